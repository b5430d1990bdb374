-- revive: put dead occurrences back to be run anew. A record that stands no more is left alone, so a repetition is harmless.
-- KEYS  1 S:dead  2 S:graves  3 S:jobs  4 S:next  5 S:again  6 S:slots  7 S:ended  8 S:cancelled  9 S:wake
-- ARGV  1 msgpack list of maps: dead id, id, payload, delay ms, and one of
--         item: a one-shot, or a new job in its place
--         entry and occurrence: one occurrence of a recurring job, whose schedule goes on or is over
-- ->    for each: revived | gone (it is not dead any more) | waits (the same job stands in S:jobs already)
local dead, graves, jobs, next_, again, slots, ended, cancelled, wake = unpack(KEYS)
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
local answer, due_now = {}, false
for i, e in ipairs(cmsgpack.unpack(ARGV[1])) do
  local state = 'revived'
  if not redis.call('ZSCORE', dead, e.dead) then
    state = 'gone'
  elseif e.item and redis.call('HSETNX', jobs, e.id, e.payload) == 0 then
    state = 'waits'
  else
    local due = string.format('%.0f', tonumber(now) + e.delay)
    if e.item then
      redis.call('ZADD', next_, 'NX', due, e.item)
    else
      -- the payload is gone where the schedule is over: then the last open occurrence takes it away again
      if redis.call('HSETNX', jobs, e.id, e.payload) == 1 then redis.call('SADD', ended, e.id) end
      redis.call('ZADD', slots, 0, 'run:' .. e.id .. '\0' .. e.occurrence)
      redis.call('ZADD', again, due, e.entry)
    end
    redis.call('ZREM', cancelled, e.id)
    redis.call('ZREM', dead, e.dead)
    redis.call('HDEL', graves, e.dead)
    if e.delay == 0 then due_now = true end
  end
  answer[i] = state
end
if due_now and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return answer
