-- unique: which message holds a unique key. A key whose time has passed is free, though nobody has freed it.
-- KEYS unique unique_until
local function holder_of(key, now) -- the id of the message; nil if the key is free
  local id = redis.call('HGET', unique, key)
  return id and tonumber(redis.call('ZSCORE', unique_until, key) or 0) > now and id or nil
end

local function hold(key, id, till)
  redis.call('HSET', unique, key, id)
  redis.call('ZADD', unique_until, string.format('%.0f', till), key)
end

local function hold_if_free(key, id, till, now)
  local holder = holder_of(key, now)
  if not holder or holder == id then hold(key, id, till) end
end

local function free(key, id)
  if redis.call('HGET', unique, key) ~= id then return end
  redis.call('HDEL', unique, key)
  redis.call('ZREM', unique_until, key)
end
