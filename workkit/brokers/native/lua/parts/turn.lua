-- turn: rates spread the starts of occurrences. Each occurrence takes the next free turn, and starts then if the last starts
-- allow it. `m` is as in admit; `m.rate` becomes the number of the rate with the latest turn.
-- KEYS again
-- part: line
local function turns_of(m, now) -- when it may start, ms: now, or at the latest of the turns that it takes
  local last = due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
  local furthest = math.max(now, last) + LONGEST -- a turn far beyond all entries of S:again does not count
  local free, next_start, latest = now, next_start_of(m.turns, furthest), 0
  for k = 1, #m.turns, 2 do
    local turn = time_of(m.turns[k], furthest)
    free = math.max(free, turn)
    turn = math.max(turn, time_of('start:' .. m.turns[k], furthest))
    if turn > latest then latest, m.rate = turn, (k + 1) / 2 end
  end
  local may_start = next_start - SLACK <= now + 1
  if m.paid and may_start then return now end
  -- if others have started instead of it, it takes another turn: it must not start too soon after them
  local at = math.max(free, m.paid and next_start or next_start - SLACK)
  for k = 1, #m.turns, 2 do note_time(m.turns[k], at + m.turns[k + 1]) end
  return at
end

local function gives_way(m, now) -- whether one before it in the order may start: it leaves its turn to that one
  local rank = rank_of(m.level, string.match(m.head, '^%a (%S+)'))
  for k, flag in ipairs(m.rates) do
    local _, _, first = first_in_line(string.match(flag, '%*(.*)$'), now, {}, {}, function() return true end)
    if first and first < rank then
      m.rate = k
      return true
    end
  end
end
