-- tidy: take out one thing that cannot be read, while it is as it was read; or ('due') only put its score at 0.
-- KEYS  1 the key
-- ARGV  1 hash | zset | stream | due  2 field, member or number of an entry  3 its value or score as read
-- ->    1 | 0 (gone, or another by now)
local key, kind, what = KEYS[1], ARGV[1], ARGV[2]
if kind == 'hash' then
  if redis.call('HGET', key, what) ~= ARGV[3] then return 0 end
  return redis.call('HDEL', key, what)
end
if kind == 'stream' then return redis.call('XDEL', key, what) end
local score = redis.call('ZSCORE', key, what)
if not score or tonumber(score) ~= tonumber(ARGV[3]) then return 0 end
if kind == 'zset' then return redis.call('ZREM', key, what) end
redis.call('ZADD', key, 'XX', 0, what)
return 1
