-- bury: move a payload or an item that cannot be read into the dead set with its bytes, if it is still as the caller read it.
-- KEYS jobs next dead graves stats first(1) first(2) first(3) tags held groups members feeds ends waiting cancelled wake
-- ARGV id digest dead_id grave items...
--      id: of the job; '' = items that name no job
--      digest: SHA-1 of its payload
--      items: its items in S:next
-- ->   1 | 0 (it is gone, or has another payload now)
-- part: clock
-- part: stats
-- part: leaves
-- part: burial
if id ~= '' then
  local payload = redis.call('HGET', jobs, id)
  if not payload or redis.sha1hex(payload) ~= digest then return 0 end
end
local waited = 0
for i = items_at, #ARGV do
  waited = waited + redis.call('ZREM', next_, ARGV[i])
  for level = 1, 3 do redis.call('ZREM', first[level], ARGV[i]) end
end
if id == '' and waited == 0 then return 0 end
local now = server_ms()
bury(now, dead_id, grave)
if id ~= '' then leave(id, 'dead') end
tally('corrupt', 1, now)
return 1
