-- register: list a listener under a name that no listener has used before. The name is the fence.
-- KEYS listeners running(listener) control
-- ARGV me info
--      info: the description of the listener, msgpack
-- ->   now, the fields and values of the control key
-- part: clock
-- part: growth
local now = server_ms()
allow_growth(running)
redis.call('HSETNX', running, '@', 0)
redis.call('HSET', running, 'info', info)
redis.call('ZADD', listeners, now, me)
return { now, redis.call('HGETALL', control) }
