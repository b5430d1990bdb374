-- line: find who takes the next turn of a rate.
-- KEYS order again
-- part: order
-- part: range
-- part: starts
local MOST_READ = 20 -- members that are read for one turn: jobs that another rate holds may be the first

local function start_of(key, now, next_starts) -- ms: when this rate allows the next start. next_starts: by key, if others start now
  return next_starts[key] or time_of('start:' .. unquoted(key), now + LONGEST)
end

local function may_start(entry, now, next_starts) -- whether all its rates allow it
  local held_by = rates_in(entry)
  for k = 1, #held_by, 2 do
    if start_of(held_by[k], now, next_starts) - SLACK > now + 1 then return false end
  end
  return true
end

local function note_next_starts(entry, now, next_starts)
  local held_by = rates_in(entry)
  for k = 1, #held_by, 2 do next_starts[held_by[k]] = math.max(now, start_of(held_by[k], now, next_starts)) + held_by[k + 1] end
end

local function has_place(entry, place) -- any program may have written a member
  for _, own in ipairs(places_of(entry)) do
    if own == place then return true end
  end
  return false
end

local function first_in_line(key, now, next_starts, mine, takes) -- the first entry that may start under this rate; then its turn and rank
  -- mine: entries that were taken from S:again; takes: whether another one may start here ('gone': it has left S:order)
  local from, to = under(key)
  local past = 0
  for _ = 1, MOST_READ do
    local place = redis.pcall('ZRANGEBYLEX', order, from, to, 'LIMIT', past, 1)[1]
    if not place then return nil end
    local rank, entry = string.match(place, '^[^%z]*%z(%d+)%z(.*)$')
    local turn = entry and not mine[entry] and has_place(entry, place) and redis.call('ZSCORE', again, entry)
    local wanted = entry and mine[entry] or turn and may_start(entry, now, next_starts) and takes(entry, turn)
    if wanted == true then return entry, turn, rank end
    if turn and wanted ~= 'gone' then past = past + 1 else redis.call('ZREM', order, place) end -- without a turn it has left S:again
  end
end
