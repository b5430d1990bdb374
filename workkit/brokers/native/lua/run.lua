-- run: run a job once, now. A recurring one keeps its times, as this is a run of its own; a one-shot that waits is due now.
-- KEYS  1 S:jobs  2 S:next  3 S:again  4 S:slots  5 S:wake  6 S:first:1  7 S:first:2  8 S:first:3
-- ARGV  1 id  2 due ms  3 the occurrence of a recurring job, '' = a one-shot
--       4 its entry; or of a one-shot, what may stand of it in S:next and S:again
-- ->    1 | 0 (it is gone, or waits nowhere)
local jobs, next_, again, slots, wake = unpack(KEYS, 1, 5)
local id, due, run = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HEXISTS', jobs, id) == 0 then return 0 end
local stands = 0
if run ~= '' then
  stands = 1
  if redis.call('ZADD', slots, 0, 'run:' .. id .. '\0' .. run) == 1 then -- else this was asked before
    redis.call('ZADD', again, due, ARGV[4])
  end
else
  for i = 4, #ARGV do
    for k = 2, 3 do
      if redis.call('ZSCORE', KEYS[k], ARGV[i]) then
        redis.call('ZADD', KEYS[k], 'XX', 'LT', due, ARGV[i])
        stands = 1
      end
    end
    for k = 6, 8 do redis.call('ZADD', KEYS[k], 'XX', 'LT', due, ARGV[i]) end
  end
end
if stands == 1 and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return stands
