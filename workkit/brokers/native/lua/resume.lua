-- resume: end a pause, and put back what was parked under it, some at a time. It works on a full server.
-- KEYS control waiting next again wake first(1) first(2) first(3) changes
-- ARGV target mode change moves
--      mode: 'end' | 'lapsed' (only if its time has passed) | 'rest' (the pause has ended: put back what is left)
--      moves: msgpack list, for each that goes back {member of S:waiting, item or entry, due ms, 'next' | 'again', priority
--      or 0}
-- ->   1 it was paused | 0, how many went back, how many are left (0 too if the pause has not ended)
-- part: control
-- part: pause
-- part: range
-- part: wake
-- part: changed
local field = 'paused:' .. target
local paused = redis.call('HGET', control, field)
if mode == 'rest' and paused_until(paused) then return { 0, 0, 0 } end
if mode == 'lapsed' then
  local now, past = server_ms()
  local till = paused_until(paused)
  if not till or till > now + past then return { 0, 0, 0 } end
end
if redis.call('HDEL', control, field) == 1 then
  has_changed()
  if #paused <= 1000 then note('before', paused) else note() end
end
local moved = 0
for _, e in ipairs(cmsgpack.unpack(moves)) do
  if redis.call('ZREM', waiting, e[1]) == 1 then
    if e[4] == 'next' then
      redis.call('ZADD', next_, 'NX', e[3], e[2])
      if e[5] > 0 then redis.call('ZADD', first[e[5]], 'NX', e[3], e[2]) end
    else
      redis.call('ZADD', again, e[3], e[2])
    end
    moved = moved + 1
  end
end
if paused or moved > 0 then wake_one() end
return { paused and 1 or 0, moved, redis.call('ZLEXCOUNT', waiting, under(field)) }
