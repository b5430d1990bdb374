-- handback: put work back that its listener no longer holds. Work that no listener has admitted, and that has no attempt,
-- may be for a foreign peer: it becomes a regular item again, in S:next at its own due time. Its crashes go to S:crashed, for
-- the listener that claims it next. All other work goes to S:again.
-- KEYS next again crashed
-- part: id
-- part: entry
local function is_regular(kind, attempt, flags, item)
  return kind == 'r' and flags == '-' and tonumber(attempt) == 0 and id_of(item) ~= ''
end

local function score_text(due) -- the score that it had, to the last digit
  local ms = is_due(due) and tonumber(due) or 0
  if ms == math.huge or ms == -math.huge then return ms > 0 and 'inf' or '-inf' end
  return string.format('%.17g', ms)
end

local function give_back(item, due, crashes)
  if redis.call('ZADD', next_, 'NX', score_text(due), item) == 0 or tonumber(crashes) == 0 then return end
  redis.pcall('HSET', crashed, occurrence_of(id_of(item), due, '-'), crashes) -- a key of another type must not stop anything
  redis.pcall('EXPIRE', crashed, 604800)
  local count = redis.pcall('HLEN', crashed)
  if type(count) == 'number' and count > 10000 then redis.call('HDEL', crashed, redis.call('HRANDFIELD', crashed)) end
end

local function hand_back(value, member, more) -- a record: its value, the member that was claimed, crashes to add
  local kind, due, attempt, crashes, flags, item = parts_of(value)
  if not kind then
    due = is_due(value) and #value < 32 and value or due_text(value)
    kind, attempt, crashes, flags, item = 'r', 0, 0, '-', member
  end
  crashes = string.format('%.0f', crashes + more)
  if is_regular(kind, attempt, flags, item) then
    give_back(item, due, crashes)
  else
    local entry = kind .. ' ' .. due .. ' ' .. attempt .. ' ' .. crashes .. ' ' .. flags .. ' ' .. item
    redis.call('ZADD', again, due_text(due), entry)
  end
end
