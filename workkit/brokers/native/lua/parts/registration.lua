-- registration: whether a listener is registered, and how many requests of it were answered.
-- KEYS running
local function last_number() -- nil: the registration is gone, or its number cannot be read
  local stored = redis.call('HGET', running, '@')
  return stored and string.find(stored, '^%d+$') and tonumber(stored) or nil
end
