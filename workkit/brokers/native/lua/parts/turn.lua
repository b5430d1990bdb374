-- turn: the turns of an occurrence whose starts are spread by rates. `m` is as in admit.
-- KEYS rates again
-- part: entry
local LONGEST = 400 * 86400000 -- ms between two turns

local function take_turns(m, now) -- when it may start, ms: the latest of its turns
  local at, last = now, due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
  for k = 1, #m.turns, 2 do -- a turn that nobody can have taken is none: who has a later one waits in S:again
    local turn = tonumber(redis.call('ZSCORE', rates, m.turns[k]) or 0)
    if turn <= math.max(now, last) + LONGEST then at = math.max(at, turn) end
  end
  for k = 1, #m.turns, 2 do redis.call('ZADD', rates, string.format('%.3f', at + m.turns[k + 1]), m.turns[k]) end
  return at
end
