-- locks: give slots of a job name back. Neither count goes below 0.
-- part: names
-- ARGV prefix
local function free(name, pool, count)
  local lock, info = queue_of(name) .. ':lock', queue_of(name) .. ':lock_info'
  if redis.call('DECRBY', lock, count) < 0 then redis.call('SET', lock, 0) end
  if redis.call('HINCRBY', info, pool, -count) < 0 then redis.call('HSET', info, pool, 0) end
end
