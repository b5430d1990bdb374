-- ending: when a job is over, or another replaces it, remove its payload, its count and its mark in S:ended.
-- KEYS counts ended
-- part: leaves
local function end_job(id, how, labels)
  leave(id, how, labels)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
end
