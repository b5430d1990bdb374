-- taking: take jobs from the right of the queues, in the order that priorities draw: as many draws as jobs, each among the
-- queues that have one left, are not paused, and are below their limit. While the namespace is paused, none is taken. If a
-- key of a name holds no number where one belongs, no job of that name is taken. Jobs of all other names are.
-- KEYS worker_pools paused_all
-- ARGV pool prefix
-- part: locks
local listed
local function is_listed(id)
  if not listed then
    listed = {}
    for _, one in ipairs(redis.call('SMEMBERS', worker_pools)) do listed[one] = true end
  end
  return listed[id]
end

local function running_of(name, most) -- at least what the listed pools say: a Go pool that was frozen leaves the lock too low
  local lock, sum = queue_of(name) .. ':lock', 0
  local running = tonumber(redis.pcall('GET', lock) or '') or 0
  if running >= most then return running end
  local info = redis.pcall('HGETALL', queue_of(name) .. ':lock_info')
  for i = 1, #info, 2 do
    if is_listed(info[i]) then sum = sum + math.max(0, tonumber(info[i + 1]) or 0) end
  end
  if running >= sum then return running end
  raise(name)
  running = tonumber(redis.pcall('GET', lock) or '') or 0
  if running < sum then redis.call('SET', lock, sum) end
  return math.max(running, sum)
end

local function open_queues(names)
  local open = {}
  if redis.call('EXISTS', paused_all) == 1 then return open end
  for _, pair in ipairs(names) do
    local base = queue_of(pair[1])
    local left = redis.pcall('LLEN', base)
    if type(left) == 'number' and left > 0 and redis.call('EXISTS', base .. ':paused') == 0 then
      local most = most_of(pair[1], pair[3])
      if most > 0 then left = math.min(left, most - running_of(pair[1], most)) end
      if left > 0 then
        open[#open + 1] = { name = pair[1], base = base, priority = pair[2], left = left, count = 0 }
      end
    end
  end
  return open
end

local function lots_of(open) -- the queues that have a job left, and where the part of each ends in the sum of priorities
  local live, ends, total = {}, {}, 0
  for _, one in ipairs(open) do
    if one.left > 0 then
      total = total + one.priority
      live[#live + 1], ends[#ends + 1] = one, total
    end
  end
  return live, ends, total
end

local function draw(live, ends, total)
  local at, low, high = math.random() * total, 1, #ends
  while low < high do
    local middle = math.floor((low + high) / 2)
    if at < ends[middle] then high = middle else low = middle + 1 end
  end
  return live[low]
end

local function started(one, oldest_first) -- whether the texts are in progress now, and counted
  local lock, info = one.base .. ':lock', one.base .. ':lock_info'
  if type(redis.pcall('INCRBY', lock, one.count)) ~= 'number' then return false end
  if type(redis.pcall('HINCRBY', info, pool, one.count)) ~= 'number' then
    redis.call('DECRBY', lock, one.count)
    return false
  end
  if type(redis.pcall('LPUSH', in_progress_of(one.name, pool), unpack(oldest_first))) ~= 'number' then
    redis.call('DECRBY', lock, one.count)
    redis.call('HINCRBY', info, pool, -one.count)
    return false
  end
  redis.call('LTRIM', one.base, 0, -one.count - 1)
  return true
end

local function take(names, limit, seed) -- returns name, text, ... and whether more is there
  local found, open = {}, open_queues(names)
  local live, ends, total = lots_of(open)
  if #open == 1 then
    open[1].count = math.min(limit, open[1].left)
    if open[1].count == open[1].left then total = 0 end
  else
    math.randomseed(tonumber(seed))
    local taken = 0
    while taken < limit and total > 0 do
      local one = draw(live, ends, total)
      one.left, one.count, taken = one.left - 1, one.count + 1, taken + 1
      if one.left == 0 then live, ends, total = lots_of(open) end
    end
  end
  for _, one in ipairs(open) do
    if one.count > 0 then
      local texts, oldest_first = redis.call('LRANGE', one.base, -one.count, -1), {}
      for i = #texts, 1, -1 do
        oldest_first[#oldest_first + 1] = texts[i]
      end
      if started(one, oldest_first) then
        for _, text in ipairs(oldest_first) do
          found[#found + 1], found[#found + 2] = one.name, text
        end
      end
    end
  end
  return found, total > 0
end
