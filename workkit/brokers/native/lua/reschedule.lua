-- reschedule: give an item of S:next another due time, or take it out where its job is gone; while it stands as read.
-- KEYS  1 S:jobs  2 S:next  3 S:wake  4 S:first:1  5 S:first:2  6 S:first:3
-- ARGV  1 item  2 its score as read  3 its job's id  4 due ms, '' = now, '-' = none: it goes, if S:jobs lacks the job
-- ->    1 | 0 (gone, another score, or its job is there, or not, against what is expected)
local jobs, next_, wake = unpack(KEYS, 1, 3)
local score = redis.call('ZSCORE', next_, ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then return 0 end
local stands = redis.call('HEXISTS', jobs, ARGV[3]) == 1
if ARGV[4] == '-' then
  if stands then return 0 end
  return redis.call('ZREM', next_, ARGV[1])
end
if not stands then return 0 end
local due = ARGV[4]
if due == '' then
  local t = redis.call('TIME')
  due = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
redis.call('ZADD', next_, due, ARGV[1])
for k = 4, 6 do redis.call('ZADD', KEYS[k], 'XX', due, ARGV[1]) end
if redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return 1
