-- turn: rates spread the starts of occurrences. Each occurrence takes the next free turn, and starts then if the last starts
-- allow it. `m` is as in admit.
-- KEYS rates again
-- part: entry
local LONGEST = 400 * 86400000 -- ms between two turns
local SLACK = 50 -- ms: starts may be this much closer together than turns

local function time_of(member, furthest) -- 0 if there is none, or none that a script can have written
  local at = tonumber(redis.call('ZSCORE', rates, member) or 0)
  return at <= furthest and at or 0
end

local function note_time(member, at) redis.call('ZADD', rates, string.format('%.3f', at), member) end

local function turns_of(m, now) -- when it may start, ms: now, or at the latest of the turns that it takes
  local last = due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
  local furthest = math.max(now, last) + LONGEST -- a turn far beyond all entries of S:again does not count
  local free, next_start = now, 0
  for k = 1, #m.turns, 2 do
    free = math.max(free, time_of(m.turns[k], furthest))
    next_start = math.max(next_start, time_of('start:' .. m.turns[k], furthest))
  end
  local may_start = next_start - SLACK <= now + 1
  if m.paid and may_start then return now end
  -- if others have started instead of it, it takes another turn: it must not start too soon after them
  local at = math.max(free, m.paid and next_start or next_start - SLACK)
  for k = 1, #m.turns, 2 do note_time(m.turns[k], at + m.turns[k + 1]) end
  return at
end

local function note_start(m, now) -- under each of its rates, the next start may come one turn later
  for k = 1, #m.turns, 2 do
    local member = 'start:' .. m.turns[k]
    note_time(member, math.max(now, time_of(member, now + LONGEST)) + m.turns[k + 1])
  end
end
