-- aside: move an occurrence that cannot start now out of its listener's record. `m` is as in admit.
-- KEYS running waiting again turns
-- part: promote
-- part: order
-- part: deadlines
local first_turn = nil -- ms: the first turn for which an occurrence waits
local due_now = false -- whether a freed slot promoted an entry

local function give_up(m, key) due_now = free_slot(key, m.run) or due_now end

local function entry_of(m, flags) return m.head .. (#flags > 0 and table.concat(flags, ';') or '-') .. m.nonce .. m.tail end

local function park(m, key, entry) -- under a limit key that is full, or under a pause
  redis.call('ZADD', waiting, 0, parked_member(key, string.match(m.head, '^%a (%S+)') or '0', m.run, entry))
  redis.call('HDEL', running, m.receipt)
  return 'p'
end

local function put_off(m, at, flags) -- until its turn comes; it keeps its slots
  flags[#flags + 1] = table.remove(m.rates, m.rate)
  for _, flag in ipairs(m.rates) do flags[#flags + 1] = flag end
  if m.level > 0 then flags[#flags + 1] = 'q' .. m.level end
  for _, key in ipairs(m.keys) do
    if key[4] == 1 then flags[#flags + 1] = key[3] end
  end
  local entry, turn = entry_of(m, flags), string.format('%.0f', math.ceil(at))
  redis.call('ZADD', again, turn, entry)
  redis.pcall('ZADD', turns, turn, entry) -- an index: a key of another type must not stop anything
  line_up(entry)
  if m.by then expect(m.by[1], at) end
  redis.call('HDEL', running, m.receipt)
  if not first_turn or at < first_turn then first_turn = at end
  return 'p'
end
