-- promote: when a slot is free, move entries that are parked for it to S:again, in order of their due times. Move as many as
-- there is room for, 100 at most. The first entry contains the limit of the key. A member that cannot be read, or contains no
-- such limit, goes to S:again too, so that it blocks no other: the listener that claims it decides again, or buries its bytes.
-- KEYS waiting again
-- part: id
-- part: entry
-- part: slots
-- part: parked
local function next_parked(key) -- the first, if there is room for it: member, due time, occurrence, entry. A member that
  -- cannot wait here has no due time and no occurrence
  local member = first_parked(key)
  if not member then return nil end
  local due, run, entry = string.match(string.sub(member, #key + 2), '^(%d+)%z([^%z]*)%z(.*)$')
  local kind, at, _, _, flags, item = parts_of(entry or '')
  if not kind or #due ~= 16 then return member, nil, nil, member end
  -- the last slot of its flags is the one that it waits for
  local limit, slot = string.match(string.match(flags, '^[^#]*'), 'g(%d+)%*([^;]*)$')
  local is_its_own = run == occurrence_of(id_of(item), at, flags) and slot and unquoted(slot) == key
  if not is_its_own or #limit > 9 or tonumber(limit) < 1 then return member, nil, nil, entry end
  if count_slots(key) >= tonumber(limit) then return nil end
  return member, due, run, entry
end

local function promote(key) -- whether any went to S:again
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

local function free_slot(key, run) -- and promote; whether any went to S:again
  drop_slot(key, run)
  return promote(key)
end
