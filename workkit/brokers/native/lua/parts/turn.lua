-- turn: rates spread the starts of occurrences: each takes the next free turn, and starts then if those before it have kept
-- theirs. `m` is as in admit.
-- KEYS rates again
-- part: entry
local LONGEST = 400 * 86400000 -- ms between two turns
local SLACK = 50 -- ms: starts may come so much closer together than turns

local function time_of(member, furthest) -- 0 where nobody has written it, or nobody can have
  local at = tonumber(redis.call('ZSCORE', rates, member) or 0)
  return at <= furthest and at or 0
end

local function note_time(member, at) redis.call('ZADD', rates, string.format('%.3f', at), member) end

local function turns_of(m, now) -- when it may start, ms: now, or at the latest of the turns that it takes
  local last = due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
  local furthest = math.max(now, last) + LONGEST -- S:again holds those with later turns: a turn far beyond them is none
  local free, next_start = now, 0
  for k = 1, #m.turns, 2 do
    free = math.max(free, time_of(m.turns[k], furthest))
    next_start = math.max(next_start, time_of('start:' .. m.turns[k], furthest))
  end
  local may_start = next_start - SLACK <= now + 1
  if m.paid and may_start then return now end
  -- one that is too late for its turn, while others have started, takes another: it may not start at once with them
  local at = math.max(free, m.paid and next_start or next_start - SLACK)
  for k = 1, #m.turns, 2 do note_time(m.turns[k], at + m.turns[k + 1]) end
  return at
end

local function note_start(m, now) -- the next start under each of its rates comes a turn later
  for k = 1, #m.turns, 2 do
    local member = 'start:' .. m.turns[k]
    note_time(member, math.max(now, time_of(member, now + LONGEST)) + m.turns[k + 1])
  end
end
