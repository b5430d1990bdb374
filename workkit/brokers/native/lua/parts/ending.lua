-- ending: when a job is over, or another replaces it, remove its payload, its count and its mark in S:ended.
-- KEYS jobs counts ended
local function end_job(id)
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
end
