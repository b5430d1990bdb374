-- wake: leave a token for one listener that sleeps. One token is enough, however much is due.
-- KEYS wake
local function wake_one()
  if redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
end
