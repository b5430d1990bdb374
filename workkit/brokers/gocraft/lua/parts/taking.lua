-- taking: take jobs from the right of the queues, in the order that priorities draw: as many draws as jobs, each among the
-- queues that have one left, are not paused, and are below their limit. A name one of whose keys holds what no pool can
-- count with is passed over; all others go on.
-- ARGV pool prefix
-- part: names
local function open_queues(names)
  local open, total = {}, 0
  for _, pair in ipairs(names) do
    local base = queue_of(pair[1])
    local left = redis.pcall('LLEN', base)
    if type(left) == 'number' and left > 0 and redis.call('EXISTS', base .. ':paused') == 0 then
      local most = tonumber(redis.pcall('GET', base .. ':max_concurrency') or '') or 0
      if most > 0 then
        local running = tonumber(redis.pcall('GET', base .. ':lock') or '') or 0
        left = math.min(left, most - math.max(0, running))
      end
      if left > 0 then
        open[#open + 1] = { name = pair[1], base = base, priority = pair[2], left = left, count = 0 }
        total = total + pair[2]
      end
    end
  end
  return open, total
end

local function draw(open, total)
  local at, chosen = math.random() * total, nil
  for _, one in ipairs(open) do
    if one.left > 0 then
      chosen, at = one, at - one.priority
      if at < 0 then break end
    end
  end
  return chosen
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
  local found, open, total = {}, open_queues(names)
  if #open == 1 then
    open[1].count = math.min(limit, open[1].left)
    if open[1].count == open[1].left then total = 0 end
  else
    math.randomseed(tonumber(seed))
    local taken = 0
    while taken < limit and total > 0 do
      local one = draw(open, total)
      one.left, one.count, taken = one.left - 1, one.count + 1, taken + 1
      if one.left == 0 then total = total - one.priority end
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
