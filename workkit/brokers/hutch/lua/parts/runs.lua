-- runs: which run of a message has begun, and how often one was cut off. A place is a queue, \0 and a message id.
-- KEYS begun counted crashes
-- part: counter
local function count_crash(place, run) -- once for each run
  if redis.call('HSETNX', counted, run, 1) == 0 then return end
  add_to(crashes, place, 1)
  redis.call('EXPIRE', crashes, 604800)
  redis.call('EXPIRE', counted, 604800)
  if redis.call('HLEN', crashes) > 10000 then redis.call('HDEL', crashes, redis.call('HRANDFIELD', crashes)) end
end

local function uncount(place)
  local n = tonumber(redis.call('HGET', crashes, place) or 0)
  if n and n > 1 then redis.call('HSET', crashes, place, n - 1) else redis.call('HDEL', crashes, place) end
end

local function end_run(place, run) -- whether its crash was counted
  if redis.call('HGET', begun, place) == run then redis.call('HDEL', begun, place) end
  return redis.call('HDEL', counted, run) == 1
end
