-- pause: pause a schedule, a function or a job; what waits of a job is parked in the same step. Harmless when repeated.
-- KEYS  1 S:control  2 S:next  3 S:again  4 S:waiting  5 S:first:1  6 S:first:2  7 S:first:3
-- ARGV  1 target  2 msgpack [reason, until ms]  3 id of the job, '' for another target  4 n, then n items of it in S:next,
--       then two for each of its entries in S:again: the entry, and its text in S:waiting
-- ->    how many were parked
local control, next_, again, waiting = unpack(KEYS, 1, 4)
-- part: control
local field, id, n = 'paused:' .. ARGV[1], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', control, field) ~= ARGV[2] then
  redis.call('HSET', control, field, ARGV[2]) -- refused by a full server; nothing is half done then
  has_changed()
end
local parked = 0
for i = 5, 4 + n do
  local item = ARGV[i]
  local score = redis.call('ZSCORE', next_, item)
  local due = score and tonumber(score)
  if due and due >= 0 and due < 9e15 then -- what has no usable time stays, for a repair
    local ms = string.format('%.0f', math.floor(due))
    local member = field .. '\0' .. string.rep('0', 16 - #ms) .. ms .. '\0' .. id .. '@' .. ms .. '\0'
    redis.call('ZADD', waiting, 0, member .. 'r ' .. ms .. ' 0 0 - ' .. item)
    redis.call('ZREM', next_, item)
    for k = 5, 7 do redis.call('ZREM', KEYS[k], item) end
    parked = parked + 1
  end
end
for i = 5 + n, #ARGV, 2 do
  if redis.call('ZREM', again, ARGV[i]) == 1 then
    redis.call('ZADD', waiting, 0, ARGV[i + 1])
    parked = parked + 1
  end
end
return parked
