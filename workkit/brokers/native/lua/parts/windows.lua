-- windows: forget windows of throttled additions that are over, 100 at most.
-- KEYS windows held
local function forget_windows(now)
  local over = redis.call('ZRANGEBYSCORE', windows, '-inf', now, 'LIMIT', 0, 100)
  if #over > 0 then
    redis.call('ZREM', windows, unpack(over))
    redis.call('HDEL', held, unpack(over))
  end
end
