-- windows: forget windows of throttled additions that are over, 100 at most; tell whether one is open.
-- KEYS windows held
local function forget_windows(now, before) -- before: called before the first write
  local over = redis.call('ZRANGEBYSCORE', windows, '-inf', now, 'LIMIT', 0, 100)
  if #over > 0 then
    if before then before() end
    redis.call('ZREM', windows, unpack(over))
    redis.call('HDEL', held, unpack(over))
  end
end

local function is_in_window(window, now_ms) -- a window that ends later than any real one does not count
  local till = tonumber(redis.call('ZSCORE', windows, window) or 0)
  return till > now_ms and till <= now_ms + 400 * 86400000
end
