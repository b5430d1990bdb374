-- news: S:control, for a listener that knows another version of it. One without a version is always news.
-- KEYS control
local function news_since(version)
  return redis.call('HGET', control, 'v') == version and {} or redis.call('HGETALL', control)
end
