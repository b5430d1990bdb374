-- beat: say whether work may be there; with `is_full`, send the heartbeat of a pool too. That writes every field, as another
-- program may have deleted the hash. It also corrects locks that a Go pool left too low, and sets limits that one removed.
-- KEYS worker_pools worker_pool(pool) record(pool) scheduled retry held held_retry cancelled(pool)
-- ARGV pool prefix is_full patience names fields...
--      patience: ms without a heartbeat after which a pool looks dead; names: as in turn.lua
-- ->   'ok', now ('' = not asked), whether work may be there, pools that look dead: id, heartbeat ('' = none) ...,
--      those of its names with later jobs that a living Go pool would bury, texts in progress that were cancelled; or 'gone'
-- part: clock
-- part: locks
-- part: rivals
local now, stale, rivals = '', {}, {}
local mine, queues, counts = cmsgpack.unpack(names), {}, {}
for _, pair in ipairs(mine) do
  queues[#queues + 1] = queue_of(pair[1])
  counts[#counts + 1] = queues[#queues] .. ':lock'
end

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
    if id ~= pool then
      local seen = redis.pcall('HMGET', prefix .. 'worker_pools:' .. id, 'heartbeat_at', 'job_names')
      local at = seen[1] or ''
      local age = tonumber(at) and now - tonumber(at) * 1000
      if not age or age > tonumber(patience) then stale[#stale + 1], stale[#stale + 2] = id, at end
      if not age or age < 11000 then note_rival(id, seen[2] or '', mine, rivals) end
    end
  end
  for place, count in ipairs(#counts > 0 and redis.call('MGET', unpack(counts)) or {}) do
    if count and (tonumber(count) or 0) < 0 then raise(mine[place][1]) end
  end
  for _, one in ipairs(mine) do
    if one[3] > 0 then most_of(one[1], one[3]) end
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

local sets = { scheduled, retry, held, held_retry }
local all = { cancelled, unpack(sets) }
for _, key in ipairs(queues) do all[#all + 1] = key end
local look, over = false, {}
if redis.call('EXISTS', unpack(all)) > 0 then -- one command where nothing is there, the usual case of an idle pool
  look = (#queues > 0 and redis.call('EXISTS', unpack(queues)) > 0) or is_any_due(sets)
  over = redis.pcall('SMEMBERS', cancelled)
  if over.err then over = {} end -- another program made something else of it
end
return { 'ok', now, look and 1 or 0, stale, rivals, over }
