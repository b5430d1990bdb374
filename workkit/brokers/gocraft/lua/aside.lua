-- aside: set bytes aside that no pool can read, and give their slot back if they had one. Of a text that stays in progress
-- though its pool has ended it, the copy with its error goes to the dead set.
-- KEYS any_key(key) unreadable dead
-- ARGV prefix kind name pool text copy
--      kind: 'list' or 'zset'; name, pool: of an in-progress list, else ''; copy: '' = into unreadable
-- ->   1 set aside | 0 not there any more
-- part: clock
-- part: names
-- part: locks
-- part: keep
local is_slot = pool ~= ''
local into = copy == '' and unreadable or dead
local stands = redis.call('TYPE', into).ok
if stands ~= 'zset' and stands ~= 'none' then return 0 end
local removed = redis.call(kind == 'list' and 'LREM' or 'ZREM', any_key, unpack(kind == 'list' and { -1, text } or { text }))
if removed == 0 then return 0 end
local now = math.floor(time_or_now('') / 1000)
if copy == '' then
  keep(unreadable, MOST_UNREADABLE, now, text)
  if is_slot then free(name, pool, 1) end
else
  keep(dead, MOST_DEAD, now, copy)
end
return 1
