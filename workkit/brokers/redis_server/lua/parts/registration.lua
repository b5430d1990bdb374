-- registration: read whether a listener is registered, and the number of its last request.
-- KEYS running
local function last_number() -- nil: the registration is gone, or the number cannot be read
  local stored = redis.call('HGET', running, '@')
  return stored and string.find(stored, '^%d+$') and tonumber(stored) or nil
end
