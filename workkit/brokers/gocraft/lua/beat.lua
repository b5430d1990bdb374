-- beat: the heartbeat of a pool. It writes every field, as another program may have deleted the hash.
-- KEYS worker_pools worker_pool(pool) record(pool) scheduled retry held held_retry
-- ARGV pool prefix patience names fields...
--      patience: ms without a heartbeat after which a pool looks dead; names: packed
-- ->   'ok', now, whether work may be there, pools that look dead: id, heartbeat ('' = none) ...; or 'gone'
-- part: clock
-- part: names
if redis.call('SISMEMBER', worker_pools, pool) == 0 or redis.call('EXPIRE', record, 3600) == 0 then return { 'gone' } end
local now = time_or_now('')
local fields = { 'heartbeat_at', string.format('%d', math.floor(now / 1000)) }
for i = fields_at, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', worker_pool, unpack(fields))
local queues = {}
for _, pair in ipairs(cmsgpack.unpack(names)) do queues[#queues + 1] = queue_of(pair[1]) end
local look = #queues > 0 and redis.call('EXISTS', unpack(queues)) > 0
for _, key in ipairs({ scheduled, retry, held, held_retry }) do
  local at = not look and redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  look = look or (at and tonumber(at) * 1000 <= tonumber(now))
end
local stale = {}
for _, id in ipairs(redis.call('SMEMBERS', worker_pools)) do
  local at = id ~= pool and (redis.call('HGET', prefix .. 'worker_pools:' .. id, 'heartbeat_at') or '')
  if at and (not tonumber(at) or now - tonumber(at) * 1000 > tonumber(patience)) then
    stale[#stale + 1], stale[#stale + 2] = id, at
  end
end
return { 'ok', now, look and 1 or 0, stale }
