-- windows: forget windows of throttled additions and of lasting keys that are over, 100 at most.
-- KEYS windows held
local function forget_windows(now, before) -- before: called before the first write
  local over = redis.call('ZRANGEBYSCORE', windows, '-inf', now, 'LIMIT', 0, 100)
  if #over > 0 then
    if before then before() end
    redis.call('ZREM', windows, unpack(over))
    redis.call('HDEL', held, unpack(over))
  end
end
