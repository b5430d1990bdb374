-- ending: a job is over, or gives way to another: its payload goes, and what is kept beside it.
-- KEYS jobs counts ended
local function end_job(id)
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
end
