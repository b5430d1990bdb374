-- gather: find what is left to do in groups (spec/groups.md): a listener asks now and then. Forget endings that are old, and
-- some members and feeds of no group.
-- KEYS groups rows members feeds waiting jobs ends next cancelled wake first(1) first(2) first(3)
-- ARGV cursor
--      cursor: '0', and then as it was answered
-- ->   the next cursor, '0' = all groups were read; then two for each group with something to do: the mode of `group`, its id
-- part: clock
-- part: groups
open_groups()
local DAY, MOST_ENDS = 86400000, 10000
local now = tonumber((server_ms()))

local function ended_at(value) return tonumber(string.match(value or '', ' (%d+)$')) or 0 end

local function forget_ends()
  local some = ask('HRANDFIELD', ends, -100, 'WITHVALUES') or {}
  local excess = #some > 0 and redis.call('HLEN', ends) - MOST_ENDS or 0
  if excess > MOST_ENDS / 10 then
    some = redis.call('HGETALL', ends)
    local times = {}
    for i = 2, #some, 2 do times[i / 2] = ended_at(some[i]) end
    table.sort(times)
    excess = times[excess]
  else
    excess = 0
  end
  for i = 1, #some, 2 do
    local at = ended_at(some[i + 1])
    if at <= math.max(excess, now - DAY) or at > now + DAY then redis.call('HDEL', ends, some[i]) end
  end
end

local function is_over(g, record, at) -- a group that nobody needs
  if at and has_any(g, 'w') then return false end
  if type(at) == 'number' and at < now - 7 * DAY then return true end
  if not record.of or redis.call('HEXISTS', jobs, record.of) == 1 then return false end
  local ending = ask('HGET', ends, record.of) or ''
  if string.find(ending, '^dead') then return false end
  return not string.find(ending, '^cancelled') or ended_at(ending) < now - DAY / 24 -- a cancellation may be undone
end

local function mode_of(g) -- nil: nothing to do
  local state, record = read_group(g)
  local is_running = state == RUNS or state == CANCELLED
  if not state then return nil end
  if is_over(g, record, not is_running and record.settled) then return 'forget' end
  if state == CANCELLED and record.name then return 'cancel' end
  if state == RUNS and (record.rows or redis.call('ZLEXCOUNT', waiting, under('open:' .. g)) > 0) then return 'release' end
  return (is_running or has_any(g, 'w')) and 'lose' or nil -- of a settled one, members that run again
end

local function forget_strays(kind, key, group_of_text) -- what no group has
  for _, text in ipairs(ask(kind == 'H' and 'HRANDFIELD' or 'ZRANDMEMBER', key, -20) or {}) do
    local g = group_of_text(text)
    if not g or ask('HEXISTS', groups, g) ~= 1 then redis.call(kind == 'H' and 'HDEL' or 'ZREM', key, text) end
  end
end

forget_ends()
forget_strays('Z', members, function(text) return #text > 9 and hex_of(string.sub(text, 1, 8)) end)
forget_strays('H', rows, function(text) return string.match(text, '^([0-9a-f]+) %d+$') end)
forget_strays('Z', feeds, function(text) return string.match(text, '^[^%z]+%z([0-9a-f]+)$') end)
local page = ask('HSCAN', groups, cursor, 'COUNT', 50) or { '0', {} }
local answer = { page[1] }
for i = 1, #page[2], 2 do
  local g = page[2][i]
  local mode = #g == 16 and string.find(g, '^[0-9a-f]+$') and mode_of(g)
  if mode then answer[#answer + 1], answer[#answer + 2] = mode, g end
end
return answer
