-- keep: add to a sorted set of ours that does not grow for ever.
local MOST_DEAD, MOST_UNREADABLE = 100000, 10000

local function keep(key, most, score, text)
  redis.call('ZADD', key, score, text)
  if redis.call('ZCARD', key) > most then redis.call('ZREMRANGEBYRANK', key, 0, -most - 1) end
end
