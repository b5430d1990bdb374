-- control: have every listener read S:control anew. Uses control.
local function has_changed()
  local v = redis.call('HGET', control, 'v')
  if not v or (#v < 16 and string.find(v, '^[1-9]%d*$')) then
    redis.call('HINCRBY', control, 'v', 1)
  else -- no number: any that no listener knows
    local t = redis.call('TIME')
    redis.call('HSET', control, 'v', t[1] .. string.format('%06d', t[2] % 1000000))
  end
end
