-- ending: end jobs that this pool holds. Refuse a job if its exact bytes are no longer in progress. A cancelled job does not
-- run again, however it ended.
-- KEYS worker_pools dead retry held held_retry unreadable crashes cancelled
-- ARGV pool prefix
-- part: names
-- part: locks
-- part: fleet
-- part: keep
local function check(ends) -- that all sets and queues take them: a wrong type is refused before anything is done
  local sets, checked = { r = { retry, held_retry }, h = { held }, x = { dead }, u = { unreadable } }, {}
  for _, one in ipairs(ends) do
    local letter = one[3]
    if sets[letter] and not checked[letter] then
      for _, key in ipairs(sets[letter]) do redis.call('ZCARD', key) end
      checked[letter] = true
    elseif letter == 'q' then
      redis.call('LLEN', queue_of(one[1]))
    end
  end
end

local place = {}
function place.d() end
function place.q(name, text) -- back to the head of its queue
  redis.call('RPUSH', queue_of(name), text)
  wake(name)
end
function place.h(_, text, at) redis.call('ZADD', held, at, text) end
function place.r(name, text, at)
  redis.call('ZADD', must_hold(name) and held_retry or retry, at, text)
end
function place.x(_, text, at) keep(dead, MOST_DEAD, at, text) end
function place.u(_, text, at) keep(unreadable, MOST_UNREADABLE, at, text) end

-- ends: [queue name, exact bytes, letter, new text, score, crashes, inner name]; of a job that is done without crashes three
local function finish(ends)
  check(ends)
  local refused, freed = {}, {}
  local is_any_cancelled = redis.call('EXISTS', cancelled) == 1
  for i, one in ipairs(ends) do
    local name, raw = one[1], one[2]
    if redis.pcall('LREM', in_progress_of(name, pool), -1, raw) ~= 1 then
      refused[#refused + 1] = i - 1
    else
      freed[name] = (freed[name] or 0) + 1
      if (one[6] or 0) > 0 and one[4] ~= raw then redis.pcall('HDEL', crashes, mark_of(raw)) end
      if not (is_any_cancelled and redis.pcall('SREM', cancelled, raw) == 1) then
        place[one[3]](one[3] == 'r' and one[7] or name, one[4], one[5])
      end
    end
  end
  for name, count in pairs(freed) do free(name, pool, count) end
  return refused
end
