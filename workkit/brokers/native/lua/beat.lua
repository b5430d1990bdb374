-- beat: show presence; hear who looks dead, what was cancelled, and whether to look for work. Trims a bounded amount.
-- KEYS  1 S:listeners  2 S:running:<L>  3 S:next  4 S:again  5 S:watch  6 S:cancelled  7 S:dead  8 S:graves  9 S:stats
--       10 S:rates  11 S:windows  12 S:held  13 S:control  14 S:slots  15 S:waiting
-- ARGV  1 L  2 lease ms  3 cancellations seen up to (ms)  4 most dead kept  5 longest dead kept (ms)
--       6 version of S:control that L knows  7 who L is: msgpack; '' = as it stands
-- ->    'gone', or 'ok', now, look (1: something waits and nobody watches it, or it is due),
--       {stale listener, its beat, ...} (10 at most), {cancelled id, when, ...} (100 at most),
--       S:control (fields and values) where it is not as L knows it, fields in S:running:<L>
local listeners, running, next_, again, watch = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local cancelled, dead, graves, stats = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local me = ARGV[1]
if not string.find(redis.call('HGET', running, '@') or '', '^%d+$') then return { 'gone' } end
redis.call('HDEL', running, '')
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
redis.call('ZADD', listeners, 'XX', now, me)
if ARGV[7] ~= '' then redis.call('HSET', running, 'info', ARGV[7]) end

local head = nil
for _, key in ipairs({ next_, again }) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if first and (not head or tonumber(first) < head) then head = tonumber(first) end
end
local look = 0
if head then
  local held = redis.call('GET', watch)
  local due = held and tonumber(string.match(held, '^(%d+) '))
  if head <= tonumber(now) or not due or due > head then look = 1 end
end

for _, name in ipairs(redis.call('ZRANGEBYSCORE', listeners, tonumber(now) + tonumber(ARGV[2]), '+inf', 'LIMIT', 0, 10)) do
  redis.call('ZADD', listeners, 'XX', now, name) -- no time of a beat: from now on it counts as any other
end
local stale = redis.call('ZRANGEBYSCORE', listeners, '-inf', tonumber(now) - tonumber(ARGV[2]), 'WITHSCORES', 'LIMIT', 0, 10)
local marks = {}
if redis.call('EXISTS', cancelled) == 1 then
  marks = redis.call('ZRANGEBYSCORE', cancelled, '(' .. ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  redis.call('ZREMRANGEBYSCORE', cancelled, '-inf', tonumber(now) - 604800000)
  redis.call('ZREMRANGEBYSCORE', cancelled, tonumber(now) + 86400000, '+inf') -- no time of a mark
end
local excess = redis.call('ZCARD', dead) - tonumber(ARGV[4])
local old = {}
if excess > 0 then
  old = redis.call('ZRANGE', dead, 0, math.min(excess, 100) - 1)
elseif excess > -tonumber(ARGV[4]) then
  old = redis.call('ZRANGEBYSCORE', dead, '-inf', tonumber(now) - tonumber(ARGV[5]), 'LIMIT', 0, 100)
end
if #old > 0 then
  redis.call('ZREM', dead, unpack(old))
  redis.call('HDEL', graves, unpack(old))
end
if redis.call('EXISTS', KEYS[10], KEYS[11]) > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[10], '-inf', now)
  local over = redis.call('ZRANGEBYSCORE', KEYS[11], '-inf', now, 'LIMIT', 0, 100)
  if #over > 0 then
    redis.call('ZREM', KEYS[11], unpack(over))
    redis.call('HDEL', KEYS[12], unpack(over))
  end
end
if redis.call('HLEN', stats) > 500 then
  local oldest = math.floor(tonumber(now) / 3600000) - 48
  for _, field in ipairs(redis.call('HKEYS', stats)) do
    local hour = tonumber(string.match(field, ':(%d+)$'))
    if not hour or hour < oldest or hour > oldest + 72 then redis.call('HDEL', stats, field) end
  end
end
local news = {}
if (redis.call('HGET', KEYS[13], 'v') or '') ~= ARGV[6] then news = redis.call('HGETALL', KEYS[13]) end
for _, key in ipairs(redis.call('EXISTS', KEYS[14], KEYS[15]) > 0 and { KEYS[14], KEYS[15] } or {}) do
  for _, range in ipairs({ { '-inf', '(0' }, { '(0', '+inf' } }) do -- they are read by their text, which scores would hide
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, range[1], range[2], 'LIMIT', 0, 100)) do
      redis.call('ZADD', key, 0, member)
    end
  end
end
return { 'ok', now, look, stale, marks, news, redis.call('HLEN', running) }
