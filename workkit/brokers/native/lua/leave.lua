-- leave: end a registration that holds nothing.
-- KEYS  1 S:listeners  2 S:running:<L>  3 S:skip:<L>  4 S:watch  5 S:wake  6 S:progress:<L>
-- ARGV  1 L
-- ->    records still held (0: gone)
local held = 0
for _, field in ipairs(redis.call('HLEN', KEYS[2]) > 2 and redis.call('HKEYS', KEYS[2]) or {}) do
  if string.find(field, '^%d+%.') then held = held + 1 end
end
if held > 0 then return held end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[6])
redis.call('ZREM', KEYS[1], ARGV[1])
local watched = redis.call('GET', KEYS[4])
if watched and string.match(watched, '^%d+ (.*)$') == ARGV[1] then redis.call('DEL', KEYS[4]) end
if redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[5]) -- nobody is left to take a token
elseif redis.call('LLEN', KEYS[5]) == 0 then
  redis.call('LPUSH', KEYS[5], 1)
end
return 0
