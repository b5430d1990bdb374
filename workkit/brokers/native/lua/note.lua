-- note: say who changes what, where the change is made of several steps, or where to say so is all.
-- KEYS changes
-- ARGV change alone
--      alone: 1 = nothing else changes: what refuses the entry is the answer
-- ->   1, or the number of the entry
-- part: changed
local said = note()
return alone == '1' and said or 1
