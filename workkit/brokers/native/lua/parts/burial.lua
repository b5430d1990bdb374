-- burial: put an occurrence into the dead set, and add the job that follows it, due now.
-- KEYS dead graves jobs next
-- part: id
local function bury(now, dead_id, grave, follower) -- follower {id, payload}; whether one was added
  redis.call('ZADD', dead, now, dead_id)
  redis.call('HSET', graves, dead_id, grave)
  if not follower then return false end
  redis.call('HSET', jobs, follower[1], follower[2])
  redis.call('ZADD', next_, now, item_of(follower[1]))
  return true
end
