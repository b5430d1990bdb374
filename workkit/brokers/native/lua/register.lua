-- register: list a listener under a name that no listener has used before. The name is the fence.
-- KEYS listeners running(listener)
-- ARGV me info
--      info: msgpack of 65 bytes or more, so that the server keeps the records in a hash table from the first one on
-- ->   now
-- part: clock
-- part: growth
local now = server_ms()
allow_growth(running)
redis.call('HSETNX', running, '@', 0)
redis.call('HSET', running, 'info', info)
redis.call('ZADD', listeners, now, me)
return now
