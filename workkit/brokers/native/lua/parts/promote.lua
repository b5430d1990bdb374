-- promote: a slot is free: those that are parked for it go on in order of their due times, as many as there is room for,
-- 100 at most. How many may run under the key stands in the entry of the first that waits. Uses slots, waiting, again; says
-- whether any went on.
local function next_parked(key) -- the first, and its due time, occurrence and entry, where there is room for it
  local member = redis.call('ZRANGEBYLEX', waiting, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, 1)[1]
  if not member then return nil end
  local due, rest = string.sub(member, #key + 2, #key + 17), string.sub(member, #key + 19)
  local cut = string.find(rest, '\0', 1, true)
  local entry = string.sub(rest, cut + 1)
  local flags = string.match(entry, '^%a %S+ %d+ %d+ ([^%s#]*)') or ''
  local limit = tonumber(string.match(flags, 'g(%d+)%*[^;]*$'))
  if not limit or redis.call('ZLEXCOUNT', slots, '[' .. key .. '\0', '(' .. key .. '\1') >= limit then return nil end
  return member, due, string.sub(rest, 1, cut - 1), entry
end

local function promote(key)
  local went = false
  for _ = 1, 100 do
    local member, due, run, entry = next_parked(key)
    if not member then break end
    redis.call('ZREM', waiting, member)
    redis.call('ZADD', slots, 0, key .. '\0' .. run)
    redis.call('ZADD', again, due, entry)
    went = true
  end
  return went
end
