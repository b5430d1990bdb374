-- locks: give slots of a job name back. Neither count goes below 0. What is no count there is left to `relock`.
-- part: names
-- ARGV prefix
local function free(name, pool, count)
  local lock, info = queue_of(name) .. ':lock', queue_of(name) .. ':lock_info'
  local left, own = redis.pcall('DECRBY', lock, count), redis.pcall('HINCRBY', info, pool, -count)
  if type(left) == 'number' and left < 0 then redis.call('SET', lock, 0) end
  if type(own) == 'number' and own < 0 then redis.call('HSET', info, pool, 0) end
end
