-- quiet: order one listener to take no new jobs, or to take jobs again. It reads the order with its next heartbeat.
-- KEYS listeners control changes
-- ARGV listener on change
--      on: 1 or ''
-- ->   1 | 0 (it was so already) | 'unknown' (no such listener)
-- part: control
-- part: changed
local field = 'quiet:' .. listener
if not redis.call('ZSCORE', listeners, listener) then return 'unknown' end
local was = redis.call('HEXISTS', control, field) == 1
if was == (on == '1') then return 0 end
if on == '1' then redis.call('HSET', control, field, 1) else redis.call('HDEL', control, field) end
has_changed()
note()
return 1
