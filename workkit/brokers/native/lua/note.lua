-- note: say who changes what, where the change is made of several steps.
-- KEYS changes
-- ARGV change
-- ->   1
-- part: changed
note()
return 1
