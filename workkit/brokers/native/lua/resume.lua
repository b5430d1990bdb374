-- resume: end a pause, and put back what was parked under it, some at a time. Works on a full server, and drains it.
-- KEYS  1 S:control  2 S:waiting  3 S:next  4 S:again  5 S:wake  6 S:first:1  7 S:first:2  8 S:first:3
-- ARGV  1 target  2 'end' | 'lapsed' (only if its time has passed) | 'rest' (it has ended: only what is left goes back)
--       3 msgpack list of what goes back, each {text in S:waiting, item or entry, due ms, 'next' | 'again', priority or 0}
-- ->    1 it was paused | 0, how many went back, how many are left (0 too where it is paused all the same)
local control, waiting, next_, again, wake = unpack(KEYS, 1, 5)
local field, mode = 'paused:' .. ARGV[1], ARGV[2]
-- part: control
-- part: pause
local paused = redis.call('HGET', control, field)
if mode == 'rest' and paused_until(paused) then return { 0, 0, 0 } end
if mode == 'lapsed' then
  local t = redis.call('TIME')
  local till = paused_until(paused)
  if not till or till > t[1] * 1000 + t[2] / 1000 then return { 0, 0, 0 } end
end
if redis.call('HDEL', control, field) == 1 then has_changed() end
local moved = 0
for _, e in ipairs(cmsgpack.unpack(ARGV[3])) do
  if redis.call('ZREM', waiting, e[1]) == 1 then
    if e[4] == 'next' then
      redis.call('ZADD', next_, 'NX', e[3], e[2])
      if e[5] > 0 then redis.call('ZADD', KEYS[5 + e[5]], 'NX', e[3], e[2]) end
    else
      redis.call('ZADD', again, e[3], e[2])
    end
    moved = moved + 1
  end
end
if (paused or moved > 0) and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return { paused and 1 or 0, moved, redis.call('ZLEXCOUNT', waiting, '[' .. field .. '\0', '(' .. field .. '\1') }
