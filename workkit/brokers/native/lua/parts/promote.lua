-- promote: a slot is free: those that are parked for it go on in order of their due times, as many as there is room for,
-- 100 at most. How many may run under the key stands in the entry of the first that waits. What cannot be read, or names
-- no such limit, keeps nobody waiting: a listener claims it, to decide anew or to bury its bytes.
-- KEYS waiting again
-- part: id
-- part: entry
-- part: slots
-- part: parked
local function unquoted(text)
  return (string.gsub(text, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

local function next_parked(key) -- the first, where there is room for it: member, due time, occurrence, entry; of one that
  -- cannot wait here its member and what goes to S:again for it
  local member = first_parked(key)
  if not member then return nil end
  local due, run, entry = string.match(string.sub(member, #key + 2), '^(%d+)%z([^%z]*)%z(.*)$')
  local kind, at, _, _, flags, item = parts_of(entry or '')
  if not kind or #due ~= 16 then return member, nil, nil, member end
  local limit, slot = string.match(string.match(flags, '^[^#]*'), 'g(%d+)%*([^;]*)$') -- the last that it has, once it has it
  local is_its_own = run == occurrence_of(id_of(item), at, flags) and slot and unquoted(slot) == key
  if not is_its_own or #limit > 9 or tonumber(limit) < 1 then return member, nil, nil, entry end
  if count_slots(key) >= tonumber(limit) then return nil end
  return member, due, run, entry
end

local function promote(key) -- whether any went on
  local went = false
  for _ = 1, 100 do
    local member, due, run, entry = next_parked(key)
    if not member then break end
    redis.call('ZREM', waiting, member)
    if due then take_slot(key, run) end
    redis.call('ZADD', again, due or 0, entry)
    went = true
  end
  return went
end

local function free_slot(key, run) -- whether any went on
  drop_slot(key, run)
  return promote(key)
end
