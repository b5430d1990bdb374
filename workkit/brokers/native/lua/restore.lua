-- restore: put entries of S:again back into S:next that nobody has admitted, and that have no attempt, each while it
-- stands. Earlier versions left them there, where no foreign peer looks.
-- KEYS  1 S:again  2 S:next  3 S:crashed  4 S:wake
-- ARGV  the entries
-- ->    how many went back
local again, next_, crashed, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- part: id
-- part: entry
-- part: handback
local moved = 0
for i = 1, #ARGV do
  local kind, due, attempt, crashes, flags, item = parts_of(ARGV[i])
  if is_regular(kind, attempt, flags, item) and redis.call('ZREM', again, ARGV[i]) == 1 then
    give_back(item, due, crashes)
    moved = moved + 1
  end
end
if moved > 0 and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return moved
