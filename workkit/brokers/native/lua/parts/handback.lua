-- handback: where work goes that its listener does not hold any more. What nobody here has admitted, and has no attempt,
-- may be for a foreign peer: it is a regular item again, in S:next at its own due time, and its crashes stand in
-- S:crashed for whoever claims it. All else waits among our own.
-- KEYS next again crashed
-- part: id
-- part: entry
local function is_regular(kind, attempt, flags, item)
  return kind == 'r' and flags == '-' and tonumber(attempt) == 0 and id_of(item) ~= ''
end

local function score_text(due) -- the score that it had, to the last digit, whatever its text
  local ms = is_due(due) and tonumber(due) or 0
  if ms == math.huge or ms == -math.huge then return ms > 0 and 'inf' or '-inf' end
  return string.format('%.17g', ms)
end

local function give_back(item, due, crashes)
  if redis.call('ZADD', next_, 'NX', score_text(due), item) == 0 or tonumber(crashes) == 0 then return end
  redis.pcall('HSET', crashed, occurrence_of(id_of(item), due, '-'), crashes) -- a key of another type stops nobody
  redis.pcall('EXPIRE', crashed, 604800)
  local count = redis.pcall('HLEN', crashed)
  if type(count) == 'number' and count > 10000 then redis.call('HDEL', crashed, redis.call('HRANDFIELD', crashed)) end
end

local function hand_back(value, member, more) -- a record: what it says, the member that was claimed, crashes to count
  local kind, due, attempt, crashes, flags, item = parts_of(value)
  if not kind then kind, due, attempt, crashes, flags, item = 'r', is_due(value) and #value < 32 and value or due_text(value), 0, 0, '-', member end
  crashes = string.format('%.0f', crashes + more)
  if is_regular(kind, attempt, flags, item) then
    give_back(item, due, crashes)
  else
    local entry = kind .. ' ' .. due .. ' ' .. attempt .. ' ' .. crashes .. ' ' .. flags .. ' ' .. item
    redis.call('ZADD', again, due_text(due), entry)
  end
end
