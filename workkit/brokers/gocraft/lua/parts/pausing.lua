-- pausing: the key of a name's pause. Of a name that is paused with the whole namespace it holds WITH_ALL.
-- KEYS paused_all
-- part: names
local WITH_ALL = 'workkit:all'

local function paused_of(name)
  return queue_of(name) .. ':paused'
end

local function set_until(key, value, at) -- at: epoch ms; '' = for ever
  if at == '' then redis.call('SET', key, value) else redis.call('SET', key, value, 'PXAT', at) end
end

local function pause_with_all(name) -- unless it is paused by itself
  local life = redis.call('PTTL', paused_all)
  if life ~= -2 and redis.call('EXISTS', paused_of(name)) == 0 then
    redis.call('SET', paused_of(name), WITH_ALL)
    if life >= 0 then redis.call('PEXPIRE', paused_of(name), life) end
  end
end
