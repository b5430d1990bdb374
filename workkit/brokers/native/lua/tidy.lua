-- tidy: remove one thing that cannot be read, if it is still as the caller read it; or only set its score to 0 ('due').
-- KEYS any_key(key)
-- ARGV kind what value
--      kind: hash | zset | stream | due; what: a field, a member or the number of an entry; value: the value or score that the
--      caller read
-- ->   1 | 0 (it is gone, or differs now)
if kind == 'hash' then
  if redis.call('HGET', any_key, what) ~= value then return 0 end
  return redis.call('HDEL', any_key, what)
end
if kind == 'stream' then return redis.call('XDEL', any_key, what) end
local score = redis.call('ZSCORE', any_key, what)
if not score or tonumber(score) ~= tonumber(value) then return 0 end
if kind == 'zset' then return redis.call('ZREM', any_key, what) end
redis.call('ZADD', any_key, 'XX', 0, what)
return 1
