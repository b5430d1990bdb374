-- control: make every listener read S:control again.
-- KEYS control
-- part: clock
local function has_changed()
  local v = redis.call('HGET', control, 'v')
  if not v or (#v < 16 and string.find(v, '^[1-9]%d*$')) then
    redis.call('HINCRBY', control, 'v', 1)
  else -- no number: take one that no listener has
    local ms, past = server_ms()
    redis.call('HSET', control, 'v', ms .. string.format('%03d', past * 1000))
  end
end
