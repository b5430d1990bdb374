-- order: the order in which entries of S:again take the turns of a rate: by priority, then by due time. An index of S:again. An entry
-- has a member under each of its rates: `<rate key, as in its flag>\0<3 - priority><due ms, 16 digits>\0<entry>`.
-- KEYS order
-- part: entry
local function rank_of(priority, due) return string.format('%d%016.0f', 3 - priority, math.max(0, due_of(due))) end

local function rates_in(entry) -- the rates that hold it, {key, ms, ...}: the first one gives it its turn; second: its rank
  local _, due, _, _, flags = parts_of(entry)
  local own, found = ';' .. string.match(flags or '', '^[^#]*') .. ';', {}
  if string.find(own, ';p;', 1, true) then
    for ms, key in string.gmatch(own, ';t([^;*]+)%*([^;]+)') do found[#found + 1], found[#found + 2] = key, tonumber(ms) or 0 end
  end
  return found, rank_of(tonumber(string.match(own, ';q([123]);') or 0), due or '0')
end

local function places_of(entry)
  local held_by, rank = rates_in(entry)
  local places = {}
  for k = 1, #held_by, 2 do places[#places + 1] = held_by[k] .. '\0' .. rank .. '\0' .. entry end
  return places
end

-- a key of another type must not stop anything
local function line_up(entry)
  for _, place in ipairs(places_of(entry)) do redis.pcall('ZADD', order, 0, place) end
end

local function leave_line(entry)
  for _, place in ipairs(places_of(entry)) do redis.pcall('ZREM', order, place) end
end
