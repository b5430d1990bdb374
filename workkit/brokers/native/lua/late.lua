-- late: find the jobs that are past their deadline, or cannot meet it.
-- KEYS deadlines jobs next slots waiting
-- ARGV mode
--      mode: tell = those of which nobody has told so; from now on they count as told | look = all; nothing is written
-- ->   now, then four for each, 100 of a kind at most: its name in S:deadlines, its deadline, its payload, its due time
--      ('' = unknown)
-- part: clock
-- part: overdue
local FORGET = 3600000 -- ms; until then an undone cancellation finds the entry again
local now = tonumber((server_ms()))
local answer = { string.format('%.0f', now) }

local function look_at(from, to)
  local found = scored(from, to, 100)
  for i = 1, #found, 2 do
    local run, deadline = found[i], math.abs(tonumber(found[i + 1])) % UNTOLD
    local payload, due = standing(run)
    if payload then
      if mode == 'tell' then set_deadline(run, -deadline) end
      for _, part in ipairs({ run, string.format('%.0f', deadline), payload, due }) do answer[#answer + 1] = part end
    elseif payload == false and mode == 'tell' then
      forget_deadline(run)
    end
  end
end

look_at(-2 * UNTOLD, mode == 'tell' and -UNTOLD or '(0')
look_at(0, now)
local told = mode == 'tell' and scored(-(now - FORGET), '(0', 100) or {}
for i = 1, #told, 2 do
  if standing(told[i]) == false then forget_deadline(told[i]) end
end
return answer
