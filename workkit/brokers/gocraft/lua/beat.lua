-- beat: say whether work may be there; with `is_full`, send the heartbeat of a pool too. That writes every field, as another
-- program may have deleted the hash.
-- KEYS worker_pools worker_pool(pool) record(pool) scheduled retry held held_retry
-- ARGV pool prefix is_full patience names fields...
--      patience: ms without a heartbeat after which a pool looks dead; names: packed
-- ->   'ok', now ('' = not asked), whether work may be there, pools that look dead: id, heartbeat ('' = none) ...; or 'gone'
-- part: clock
-- part: names
local now, stale = '', {}
if is_full == '1' then
  if redis.call('SISMEMBER', worker_pools, pool) == 0 or redis.call('EXPIRE', record, 3600) == 0 then return { 'gone' } end
  now = time_or_now('')
  local fields = { 'heartbeat_at', string.format('%d', math.floor(now / 1000)) }
  for i = fields_at, #ARGV do fields[#fields + 1] = ARGV[i] end
  if type(redis.pcall('HSET', worker_pool, unpack(fields))) ~= 'number' then
    redis.call('DEL', worker_pool) -- another program made something else of it
    redis.call('HSET', worker_pool, unpack(fields))
  end
  for _, id in ipairs(redis.call('SMEMBERS', worker_pools)) do
    local at = redis.pcall('HGET', prefix .. 'worker_pools:' .. id, 'heartbeat_at')
    at = type(at) == 'string' and at or ''
    if id ~= pool and not (tonumber(at) and now - tonumber(at) * 1000 <= tonumber(patience)) then
      stale[#stale + 1], stale[#stale + 2] = id, at
    end
  end
end

local function is_any_due(sets)
  for _, key in ipairs(sets) do
    local at = redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if at then
      now = time_or_now(now)
      if tonumber(at) * 1000 <= tonumber(now) then return true end
    end
  end
  return false
end

local sets, queues = { scheduled, retry, held, held_retry }, {}
for _, pair in ipairs(cmsgpack.unpack(names)) do queues[#queues + 1] = queue_of(pair[1]) end
local all = { unpack(sets) }
for _, key in ipairs(queues) do all[#all + 1] = key end
local look = false
if redis.call('EXISTS', unpack(all)) > 0 then -- one command where nothing is there, the usual case of an idle pool
  look = (#queues > 0 and redis.call('EXISTS', unpack(queues)) > 0) or is_any_due(sets)
end
return { 'ok', now, look and 1 or 0, stale }
