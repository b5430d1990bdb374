-- tidy: take out one thing that cannot be read, while it is as it was read; or ('due') only put its score at 0.
-- KEYS given(key)
-- ARGV kind what value
--      kind: hash | zset | stream | due; what: field, member or number of an entry; value: its value or score as read
-- ->   1 | 0 (gone, or another by now)
if kind == 'hash' then
  if redis.call('HGET', given, what) ~= value then return 0 end
  return redis.call('HDEL', given, what)
end
if kind == 'stream' then return redis.call('XDEL', given, what) end
local score = redis.call('ZSCORE', given, what)
if not score or tonumber(score) ~= tonumber(value) then return 0 end
if kind == 'zset' then return redis.call('ZREM', given, what) end
redis.call('ZADD', given, 'XX', 0, what)
return 1
