-- discard: forget dead occurrences.
-- KEYS dead graves changes
-- ARGV change dead_ids...
-- ->   how many of them were in the dead set
-- part: changed
redis.call('HDEL', graves, unpack(ARGV, dead_ids_at))
local gone = redis.call('ZREM', dead, unpack(ARGV, dead_ids_at))
if gone > 0 then note('times', gone) end
return gone
