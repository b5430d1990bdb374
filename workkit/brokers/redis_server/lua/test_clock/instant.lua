-- instant: the time of the test clock, in the form of TIME; this server's time while no test has set it.
local function instant()
  local ms = redis.call('GET', 'workkit:test-clock')
  if not ms then return redis.call('TIME') end
  return { string.sub(ms, 1, -4), string.sub(ms, -3) .. '000' }
end
