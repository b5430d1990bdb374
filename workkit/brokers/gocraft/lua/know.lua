-- know: list a name that has a queue and is not known, as if it was enqueued now.
-- KEYS known_jobs paused_all
-- ARGV prefix name
-- ->   1 listed | 0 it is known, or has no queue any more
-- part: names
-- part: known
if redis.call('EXISTS', queue_of(name)) == 0 or redis.call('SISMEMBER', known_jobs, name) == 1 then return 0 end
know(name)
return 1
