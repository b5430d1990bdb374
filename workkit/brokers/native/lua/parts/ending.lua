-- ending: a job is over, or gives way to another: its payload goes, with its count and its mark in S:ended.
-- KEYS jobs counts ended
local function end_job(id)
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
end
