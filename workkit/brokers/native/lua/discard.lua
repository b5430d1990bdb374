-- discard: forget dead occurrences, and the logs of their last runs.
-- KEYS dead graves changes logs jobs tags held groups members feeds ends waiting next cancelled wake first(1) first(2) first(3)
-- ARGV change count dead_ids...
--      dead_ids: `count` ids, then the names of the logs of as many runs
-- ->   how many of them were in the dead set
-- part: changed
-- part: graves
local last = dead_ids_at + tonumber(count) - 1
local gone = leave_dead({ unpack(ARGV, dead_ids_at, last) })
redis.pcall('HDEL', logs, unpack(ARGV, last + 1))
if gone > 0 then note('times', gone) end
return gone
