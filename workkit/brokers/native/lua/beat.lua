-- beat: show that a listener lives, and answer what it should know. Trim what is old, at most 100 of each kind.
-- KEYS listeners running(listener) next again watch cancelled dead graves stats rates windows held control slots waiting
-- KEYS turns order jobs tags deadlines groups members feeds ends wake first(1) first(2) first(3)
-- ARGV me lease marks_after most_dead longest_dead version info
--      me: the listener; lease: after this many ms without a beat another listener looks dead
--      marks_after: the time of the last cancellation that it knows of, ms
--      most_dead, longest_dead: how many dead occurrences are kept, and for how many ms
--      version: of S:control, as it knows it
--      info: the description of the listener, msgpack; others may have overwritten it
-- ->   'gone', or 'ok', now, look (1: work is due, or nobody watches for it), {listener that looks dead, its beat, ...} (10 at
--      most), {cancelled id, when, ...} (100 at most), S:control (fields and values; empty: as it knows it), the number of
--      fields in its S:running:<L>, 1 if something is late and nobody has told so, 1 if there is anything to gather
-- part: registration
-- part: growth
-- part: clock
-- part: windows
-- part: news
-- part: graves
-- part: overdue
if not last_number() then return { 'gone' } end
allow_growth(running)
local now = server_ms()
redis.call('ZADD', listeners, 'XX', now, me)
if redis.call('HGET', running, 'info') ~= info then redis.call('HSET', running, 'info', info) end

local head = nil
for _, key in ipairs({ next_, again }) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if first and (not head or tonumber(first) < head) then head = tonumber(first) end
end
local look = 0
if head then
  local watched = redis.call('GET', watch)
  local due = watched and tonumber(string.match(watched, '^(%d+) '))
  if head <= tonumber(now) or not due or due > head then look = 1 end
end

for _, name in ipairs(redis.call('ZRANGEBYSCORE', listeners, tonumber(now) + tonumber(lease), '+inf', 'LIMIT', 0, 10)) do
  redis.call('ZADD', listeners, 'XX', now, name) -- no listener sends a beat from the future: it counts from now
end
local stale = redis.call('ZRANGEBYSCORE', listeners, '-inf', tonumber(now) - tonumber(lease), 'WITHSCORES', 'LIMIT', 0, 10)
local marks = {}
if redis.call('EXISTS', cancelled) == 1 then
  marks = redis.call('ZRANGEBYSCORE', cancelled, '(' .. marks_after, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  redis.call('ZREMRANGEBYSCORE', cancelled, '-inf', tonumber(now) - 604800000)
  redis.call('ZREMRANGEBYSCORE', cancelled, tonumber(now) + 86400000, '+inf') -- no mark is so far ahead
end
local excess = redis.call('ZCARD', dead) - tonumber(most_dead)
local old = {}
if excess > 0 then
  old = redis.call('ZRANGE', dead, 0, math.min(excess, 100) - 1)
elseif excess > -tonumber(most_dead) then
  old = redis.call('ZRANGEBYSCORE', dead, '-inf', tonumber(now) - tonumber(longest_dead), 'LIMIT', 0, 100)
end
if #old > 0 then leave_dead(old) end
if redis.call('EXISTS', rates, windows, turns, order) > 0 then
  redis.call('ZREMRANGEBYSCORE', rates, '-inf', now)
  local come = redis.pcall('ZRANGEBYSCORE', turns, '-inf', now, 'LIMIT', 0, 100)
  if #come > 0 then redis.call('ZREM', turns, unpack(come)) end
  redis.pcall('ZREMRANGEBYSCORE', order, '-inf', '(0')
  redis.pcall('ZREMRANGEBYSCORE', order, '(0', '+inf')
  for _, place in ipairs(redis.pcall('ZRANDMEMBER', order, -5)) do
    local entry = string.match(place, '^[^%z]*%z%d+%z(.*)$')
    if not entry or not redis.call('ZSCORE', again, entry) then redis.call('ZREM', order, place) end
  end
  forget_windows(now)
end
if redis.call('HLEN', stats) > 500 then
  local oldest = math.floor(tonumber(now) / 3600000) - 48
  for _, field in ipairs(redis.call('HKEYS', stats)) do
    local hour = tonumber(string.match(field, ':(%d+)$'))
    if not hour or hour < oldest or hour > oldest + 72 then redis.call('HDEL', stats, field) end
  end
end
local news = news_since(version)
for _, key in ipairs(redis.call('EXISTS', slots, waiting, members, feeds) > 0 and { slots, waiting, members, feeds } or {}) do
  -- scripts read members in order of their texts; scores other than 0 break that order
  for _, range in ipairs({ { '-inf', '(0' }, { '(0', '+inf' } }) do
    for _, member in ipairs(ask('ZRANGEBYSCORE', key, range[1], range[2], 'LIMIT', 0, 100) or {}) do
      redis.call('ZADD', key, 0, member)
    end
  end
end
return { 'ok', now, look, stale, marks, news, redis.call('HLEN', running), is_late(now),
  redis.call('EXISTS', groups, members, feeds, ends) > 0 and 1 or 0 }
