-- register: list a listener under a name never used before. The name is the fence.
-- KEYS listeners running(listener)
-- ARGV me info
--      info: msgpack, padded to 65 bytes or more, so that the hash is a real one from its first record
-- ->   now
-- part: clock
-- part: growth
local now = server_ms()
allow_growth(running)
redis.call('HSETNX', running, '@', 0)
redis.call('HSET', running, 'info', info)
redis.call('ZADD', listeners, now, me)
return now
