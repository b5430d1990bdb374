-- parked: members of S:waiting. An entry waits there under a limit key that is full, or under a pause.
-- KEYS waiting
-- part: entry
-- part: range
local function parked_member(key, due, run, entry)
  local ms = string.format('%016.0f', math.max(0, due_of(due)))
  return key .. '\0' .. ms .. '\0' .. run .. '\0' .. entry
end

local function parked_entry(member) -- nil if it holds none. The key before it may have any bytes
  local text = string.match(member, '^.-%z%d+%z[^%z]*%z(.*)$')
  return text and parts_of(text) and text
end

local function first_parked(key)
  local from, to = under(key)
  return redis.call('ZRANGEBYLEX', waiting, from, to, 'LIMIT', 0, 1)[1]
end
