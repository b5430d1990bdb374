-- resume: end a pause.
-- KEYS control
-- ARGV target mode
--      mode: 'end' | 'lapsed' (only if its time has passed)
-- ->   1 it was paused | 0
-- part: control
-- part: pause
local field = 'paused:' .. target
if mode == 'lapsed' then
  local now, past = server_ms()
  local till = paused_until(redis.call('HGET', control, field))
  if not till or till > now + past then return 0 end
end
local was = redis.call('HDEL', control, field)
if was == 1 then has_changed() end
return was
