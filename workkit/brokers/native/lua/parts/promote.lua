-- promote: a slot is free: those that are parked for it go on in order of their due times, as many as there is room for,
-- 100 at most. How many may run under the key stands in the entry of the first that waits. What cannot be read, or names
-- no such limit, keeps nobody waiting: a listener claims it, to decide anew or to bury its bytes. Uses slots, waiting,
-- again, and the parts entry; says whether any went on.
local function next_parked(key) -- the first, where there is room for it: member, due time, occurrence, entry; of one that
  -- cannot wait here its member and what goes to S:again for it
  local member = redis.call('ZRANGEBYLEX', waiting, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, 1)[1]
  if not member then return nil end
  local due, run, entry = string.match(string.sub(member, #key + 2), '^(%d+)%z([^%z]*)%z(.*)$')
  if not due or #due ~= 16 or not parts_of(entry) then return member, nil, nil, member end
  local flags = string.match(entry, '^%a %S+ %d+ %d+ ([^%s#]*)')
  local limit = string.match(flags, 'g(%d+)%*[^;]*$')
  if not limit or #limit > 9 or tonumber(limit) < 1 then return member, nil, nil, entry end
  if redis.call('ZLEXCOUNT', slots, '[' .. key .. '\0', '(' .. key .. '\1') >= tonumber(limit) then return nil end
  return member, due, run, entry
end

local function promote(key)
  local went = false
  for _ = 1, 100 do
    local member, due, run, entry = next_parked(key)
    if not member then break end
    redis.call('ZREM', waiting, member)
    if due then redis.call('ZADD', slots, 0, key .. '\0' .. run) end
    redis.call('ZADD', again, due or 0, entry)
    went = true
  end
  return went
end
