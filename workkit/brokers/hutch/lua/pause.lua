-- pause: pause a schedule or a function. A repetition changes nothing.
-- KEYS control
-- ARGV target pause
--      pause: msgpack [reason, until ms]
-- ->   1 it differed | 0
-- part: control
local field = 'paused:' .. target
if redis.call('HGET', control, field) == pause then return 0 end
redis.call('HSET', control, field, pause)
has_changed()
return 1
