-- discard: forget dead occurrences.
-- KEYS  1 S:dead  2 S:graves
-- ARGV  dead ids
-- ->    how many there were
redis.call('HDEL', KEYS[2], unpack(ARGV))
return redis.call('ZREM', KEYS[1], unpack(ARGV))
