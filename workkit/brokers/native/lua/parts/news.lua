-- news: S:control, fields and values, where it is not as a listener knows it; a control without a version is always news.
-- KEYS control
local function news_since(version)
  return redis.call('HGET', control, 'v') == version and {} or redis.call('HGETALL', control)
end
