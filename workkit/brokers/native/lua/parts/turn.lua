-- turn: rates spread the starts of occurrences: each takes the next free turn. `m` is as in admit.
-- KEYS rates again
-- part: entry
local LONGEST = 400 * 86400000 -- ms between two turns

local function take_turns(m, now) -- when it may start, ms: at the latest of its turns
  local at, last = now, due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
  for k = 1, #m.turns, 2 do -- S:again holds those with later turns: a turn far beyond them is none
    local turn = tonumber(redis.call('ZSCORE', rates, m.turns[k]) or 0)
    if turn <= math.max(now, last) + LONGEST then at = math.max(at, turn) end
  end
  for k = 1, #m.turns, 2 do redis.call('ZADD', rates, string.format('%.3f', at + m.turns[k + 1]), m.turns[k]) end
  return at
end
