-- leave: end the registration of a listener that holds nothing.
-- KEYS listeners running(listener) skip(listener) watch wake progress(listener) control
-- ARGV me
--      me: the listener
-- ->   how many records it holds (0: the registration has ended)
-- part: wake
local held = 0
for _, field in ipairs(redis.call('HLEN', running) > 2 and redis.call('HKEYS', running) or {}) do
  if string.find(field, '^%d+%.') then held = held + 1 end
end
if held > 0 then return held end
redis.call('DEL', running, skip, progress)
redis.call('ZREM', listeners, me)
redis.call('HDEL', control, 'quiet:' .. me)
local watched = redis.call('GET', watch)
if watched and string.match(watched, '^%d+ (.*)$') == me then redis.call('DEL', watch) end
if redis.call('ZCARD', listeners) == 0 then
  redis.call('DEL', wake) -- no listener is left to take a token
else
  wake_one()
end
return 0
