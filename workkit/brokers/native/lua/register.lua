-- register: list a listener under a name never used before. The name is the fence.
-- KEYS  1 S:listeners  2 S:running:<L>
-- ARGV  1 L  2 info: msgpack, padded to 65 bytes or more, so that the hash is a real one from its first record
-- ->    now
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
redis.call('HDEL', KEYS[2], '') -- a write that a full server allows; after it the rest may grow
redis.call('HSETNX', KEYS[2], '@', 0)
redis.call('HSET', KEYS[2], 'info', ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
return now
