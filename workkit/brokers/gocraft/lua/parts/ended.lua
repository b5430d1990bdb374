-- ended: texts that a Go pool has ended and left in its list. A unique job by key runs with the text that its key holds then, and
-- the pool removes that text from its list: the listed one stays there.
-- ARGV prefix
-- part: names
local MOST_ENDED = 1000 -- texts of one list that are looked into at once

local function says_unique(text) -- as Go reads it
  local is_json, job = pcall(cjson.decode, text)
  for field, value in pairs(is_json and type(job) == 'table' and job or {}) do
    if value == true and type(field) == 'string' and string.lower(field) == 'unique' then return true end
  end
  return false
end

local function observed(name, id) -- what the workers of a pool say that they run of a name: how many jobs, their ids
  local ids, count, jobs = redis.pcall('HGET', prefix .. 'worker_pools:' .. id, 'worker_ids'), 0, {}
  for worker in string.gmatch(type(ids) == 'string' and ids or '', '[^,]+') do
    local found = redis.pcall('HMGET', prefix .. 'worker:' .. worker, 'job_name', 'job_id')
    if found[1] == name then
      count = count + 1
      if found[2] then jobs[found[2]] = true end
    end
  end
  return count, jobs
end

local function whole(text) -- of a string or a field: an integer that both sides can count with, or nil
  return type(text) == 'string' and #text < 16 and string.match(text, '^%-?%d+$') and tonumber(text) or nil
end

-- A list with more texts than the field of its pool in `lock_info` holds ended ones. In progress are those that are not
-- unique, those that a worker says it runs, and of the others the latest, as many as the field still says.
local function ended_in(name, id)
  local list, told, ended = in_progress_of(name, id), whole(redis.pcall('HGET', queue_of(name) .. ':lock_info', id)), {}
  local length = redis.pcall('LLEN', list)
  if not told or type(length) ~= 'number' or length <= math.max(0, told) then return ended end
  local texts, others, left = redis.call('LRANGE', list, -(MOST_ENDED + math.max(0, told)), -1), {}, told
  local _, jobs = observed(name, id)
  for _, text in ipairs(texts) do -- the latest first
    if says_unique(text) and not jobs[mark_of(text)] then others[#others + 1] = text else left = left - 1 end
  end
  for place, text in ipairs(others) do
    if place > left then ended[#ended + 1] = text end
  end
  return ended
end
