-- discard: forget dead occurrences.
-- KEYS dead graves
-- ARGV dead_ids...
-- ->   how many of them were in the dead set
redis.call('HDEL', graves, unpack(ARGV, dead_ids_at))
return redis.call('ZREM', dead, unpack(ARGV, dead_ids_at))
