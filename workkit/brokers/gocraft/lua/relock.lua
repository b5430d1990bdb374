-- relock: compare the lock of a name, and its lock_info, with the jobs in progress; on request set them right. All in one
-- step, as each pool takes and ends a job in one step.
-- KEYS worker_pools
-- ARGV prefix name seen pools...
--      seen: '' = look, else set right what still differs in exactly this way; pools: more pools that may have a list of
--      this name
-- ->   how it differs ('' = it does not), the lock as it is, running jobs, fields of lock_info of pools that are gone
-- part: ended
local base = queue_of(name)
local lock, info = base .. ':lock', base .. ':lock_info'

local function count_of(reply)
  return type(reply) == 'number' and reply or 0
end

local function running_in(id, told) -- how many texts of a list are in progress, and how many it has
  local list = in_progress_of(name, id)
  local length = count_of(redis.pcall('LLEN', list))
  if length <= math.max(0, told or 0) or length > MOST_ENDED then return length, length end
  local plain = 0
  for _, text in ipairs(redis.call('LRANGE', list, 0, -1)) do
    if not says_unique(text) then plain = plain + 1 end
  end
  if plain == length then return length, length end
  local busy = observed(name, id) -- a pool that was frozen and reaped still runs jobs that its field does not count
  return math.min(length, math.max(told or 0, plain, busy)), length
end

local type_of_lock, type_of_info = redis.call('TYPE', lock).ok, redis.call('TYPE', info).ok
if (type_of_lock ~= 'string' and type_of_lock ~= 'none') or (type_of_info ~= 'hash' and type_of_info ~= 'none') then
  return { '', '', 0, 0 } -- a wrong type is another trouble
end

local is_listed, pools, known = {}, {}, {}
local function note(id)
  if not known[id] then
    known[id] = true
    pools[#pools + 1] = id
  end
end
local listed = redis.pcall('SMEMBERS', worker_pools)
for _, id in ipairs(listed.err and {} or listed) do
  is_listed[id] = true
  note(id)
end
for _, id in ipairs(redis.call('HKEYS', info)) do note(id) end
for i = pools_at, #ARGV do note(ARGV[i]) end
table.sort(pools)

local running, gone, rows, differs = 0, 0, {}, {}
for _, id in ipairs(pools) do
  local field = redis.call('HGET', info, id)
  local told = whole(field)
  local true_count, length = running_in(id, told)
  running = running + true_count
  local is_gone = field and length == 0 and not is_listed[id] -- the field says which texts of a list have ended
  if is_gone or field and told ~= true_count or not field and true_count > 0 then
    if is_gone then gone = gone + 1 end
    rows[#rows + 1] = { id, not is_gone and true_count }
    differs[#differs + 1] = id .. '=' .. (told and told - true_count or 'x') -- the same while jobs come and go
  end
end
local stands = redis.call('GET', lock)
local held = whole(stands or '0')
if held ~= running then differs[#differs + 1] = held and tostring(held - running) or 'x' end
local how = table.concat(differs, ',')
if seen ~= '' and seen == how then
  redis.call('SET', lock, running)
  for _, row in ipairs(rows) do
    if row[2] then redis.call('HSET', info, row[1], row[2]) else redis.call('HDEL', info, row[1]) end
  end
  wake(name)
end
return { how, stands or '', running, gone }
