-- restore: move entries from S:again to S:next that no listener has admitted and that have no attempt. Earlier versions left
-- them in S:again, where no foreign peer looks.
-- KEYS again next crashed wake
-- ARGV entries...
-- ->   how many went back
-- part: handback
-- part: wake
local moved = 0
for i = entries_at, #ARGV do
  local kind, due, attempt, crashes, flags, item = parts_of(ARGV[i])
  if is_regular(kind, attempt, flags, item) and redis.call('ZREM', again, ARGV[i]) == 1 then
    give_back(item, due, crashes)
    moved = moved + 1
  end
end
if moved > 0 then wake_one() end
return moved
