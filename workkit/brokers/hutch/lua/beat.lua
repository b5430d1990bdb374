-- beat: show that a listener lives, and answer what it should know. Forget what is old, at most 100 of each kind.
-- KEYS listeners running(listener) control rates unique unique_until
-- ARGV me lease version info
--      lease: after this many ms without a beat a listener is taken for dead
--      version: of the control key, as the listener knows it; info: its description
-- ->   'gone', or 'ok', {listener that looks dead, its beat, ...} (10 at most), the control key (as in take)
-- part: registration
-- part: growth
-- part: clock
-- part: news
if not last_number() then return { 'gone' } end
allow_growth(running)
local now = tonumber((server_ms()))
redis.call('ZADD', listeners, 'XX', now, me)
if redis.call('HGET', running, 'info') ~= info then redis.call('HSET', running, 'info', info) end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', listeners, now + tonumber(lease), '+inf', 'LIMIT', 0, 10)) do
  redis.call('ZADD', listeners, 'XX', now, name) -- no listener sends a beat from the future: it counts from now
end
local stale = redis.call('ZRANGEBYSCORE', listeners, '-inf', now - tonumber(lease), 'WITHSCORES', 'LIMIT', 0, 10)
redis.call('ZREMRANGEBYSCORE', rates, '-inf', now)
local old = redis.call('ZRANGEBYSCORE', unique_until, '-inf', now, 'LIMIT', 0, 100)
if #old > 0 then
  redis.call('ZREM', unique_until, unpack(old))
  redis.call('HDEL', unique, unpack(old))
end
return { 'ok', stale, news_since(version) }
