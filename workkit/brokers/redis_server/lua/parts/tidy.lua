-- tidy: remove one field or member, if it still has the value or score that the caller read; or set its score to 0 ('due').
-- KEYS any_key
local function tidy(kind, what, value) -- 1, or 0: it is gone, or differs now
  if kind == 'hash' then
    if redis.call('HGET', any_key, what) ~= value then return 0 end
    return redis.call('HDEL', any_key, what)
  end
  local score = redis.call('ZSCORE', any_key, what)
  if not score or tonumber(score) ~= tonumber(value) then return 0 end
  if kind == 'zset' then return redis.call('ZREM', any_key, what) end
  redis.call('ZADD', any_key, 'XX', 0, what)
  return 1
end
