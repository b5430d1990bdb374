-- due: read due items and entries. A cursor for each key leads past jobs that this listener skips (see crowd).
-- KEYS next again first
-- ARGV now cursors
-- part: id
-- part: crowd
local WITH_CURSOR = { next_, again, first[3], first[2], first[1] } -- cursors travel in this order
local cursor_of, is_all = {}, true -- is_all: no queue has more to read for this claim

local function open_cursors()
  open_crowd()
  local packed = cursors ~= '' and cmsgpack.unpack(cursors) or {}
  for n, key in ipairs(WITH_CURSOR) do cursor_of[key] = new_cursor(packed[n]) end
end

local function packed_cursors() -- '' if it skips nothing
  local packed = {}
  for n, key in ipairs(WITH_CURSOR) do
    if not cursor_of[key] then return '' end
    packed[n] = pack_cursor(cursor_of[key])
  end
  return cmsgpack.pack(packed)
end

local function read(key, most, is_entry) -- the first that are due and not skipped
  if cursor_of[key] then
    local mine, is_end = read_past(key, cursor_of[key], most, is_entry)
    is_all = is_all and is_end
    return mine
  end
  local got = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  local found, n = {}, 0
  for i = 1, #got, 2 do
    local member, text = got[i], got[i + 1]
    local id = is_entry and id_in(member) or not is_entry and id_of(member) or ''
    n = n + 1
    found[n] = { member, is_entry and '' or text, id, tonumber(text) }
  end
  return found
end

local function took_from(key, found, n) -- the first n of what was read
  if cursor_of[key] then took(cursor_of[key], found, n) end
end

local function waits_in(key) -- whether work is due that this listener has not read past
  local c = cursor_of[key]
  return redis.call('ZCOUNT', key, '-inf', now) > (c and c.past or 0) or (c and c.hidden > 0)
end
