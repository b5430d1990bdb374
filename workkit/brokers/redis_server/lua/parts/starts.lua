-- starts: under a rate, the next start may come one turn after the last one.
-- KEYS rates
local LONGEST = 400 * 86400000 -- ms between two turns
local SLACK = 50 -- ms: starts may be this much closer together than turns

local function time_of(member, furthest) -- 0 if there is none, or none that a script can have written
  local at = tonumber(redis.call('ZSCORE', rates, member) or 0)
  return at <= furthest and at or 0
end

local function note_time(member, at) redis.call('ZADD', rates, string.format('%.3f', at), member) end

local function next_start_of(turns, furthest) -- ms: when all of its rates allow a start
  local at = 0
  for k = 1, #turns, 2 do at = math.max(at, time_of('start:' .. turns[k], furthest)) end
  return at
end

local function note_start(turns, now) -- under each of these rates
  for k = 1, #turns, 2 do
    local member = 'start:' .. turns[k]
    note_time(member, math.max(now, time_of(member, now + LONGEST)) + turns[k + 1])
  end
end
