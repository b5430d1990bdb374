-- cancel: take a job out; what is out of the queue already is only marked, and ends by its mark.
-- KEYS  1 S:jobs  2 S:next  3 S:cancelled  4 S:ended  5 S:waiting  6 S:again  7 S:names  8 S:unique  9 S:counts
--       10 S:control  11 S:wake  12 S:first:1  13 S:first:2  14 S:first:3
-- ARGV  1 id  2 1 if it recurs, else 0  3 its name, or ''  4 its unique key, or ''
--       5 how many texts its item may stand under, then these, then its members of S:waiting
-- ->    removed | marked | unknown
local jobs, next_, cancelled, ended, waiting, again = unpack(KEYS, 1, 6)
local names, unique, counts, control, wake = unpack(KEYS, 7, 11)
local id, recurs, name, key = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
redis.call('HDEL', jobs, '')
if redis.call('HEXISTS', jobs, id) == 0 then return 'unknown' end
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))

-- part: entry
-- part: control
local function forget() -- with its payload goes what stood for it
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
  for hash, field in pairs({ [names] = name, [unique] = key }) do
    if string.match(redis.call('HGET', hash, field) or '', '^%S*') == id then redis.call('HDEL', hash, field) end
  end
  if redis.call('HDEL', control, 'paused:job:' .. (name ~= '' and name or id)) == 1 then
    has_changed()
  end
end

local last, waited = 5 + tonumber(ARGV[5]), 0
for i = 6, last do
  waited = waited + redis.call('ZREM', next_, ARGV[i])
  for k = 12, 14 do redis.call('ZREM', KEYS[k], ARGV[i]) end
end
for i = last + 1, #ARGV do
  if redis.call('ZREM', waiting, ARGV[i]) == 1 then
    local entry = string.match(ARGV[i], '^[^%z]*%z%d+%z[^%z]*%z(.*)$') or ''
    if not parts_of(entry) then entry = ARGV[i] end -- no entry: for the listener that claims its bytes
    if string.match(entry, '^r %S+ 0 0 %- ') then -- a pause has parked it before it began
      waited = waited + 1
    else -- it may have slots: a listener gives them back, as it ends what is marked. That it waits for is not its own
      if entry ~= ARGV[i] and string.sub(ARGV[i], 1, 7) ~= 'paused:' then
        local head, flags, rest = string.match(entry, '^(%a %S+ %d+ %d+ )([^%s#]*)(.*)$')
        flags = string.gsub(string.gsub(flags, 'g%d+%*[^;]*$', ''), ';$', '')
        entry = head .. (flags == '' and '-' or flags) .. rest
      end
      redis.call('ZADD', again, now, entry)
      if redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
    end
  end
end
if waited > 0 and not recurs then
  forget()
  return 'removed'
end
redis.call('ZADD', cancelled, now, id)
if not recurs then return 'marked' end
forget()
return waited > 0 and 'removed' or 'marked'
