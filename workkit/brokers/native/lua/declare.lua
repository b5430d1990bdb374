-- declare: set the schedule's own limits, if they differ from these.
-- KEYS control
-- ARGV limit turn_ms
--      limit: of runs at a time, '' = none; turn_ms: between two starts, '' = none
-- ->   1 they differed | 0
-- part: control
local changed = 0
for field, wanted in pairs({ limit = limit, turn_ms = turn_ms }) do
  if (redis.call('HGET', control, field) or '') ~= wanted then
    if wanted == '' then redis.call('HDEL', control, field) else redis.call('HSET', control, field, wanted) end
    changed = 1
  end
end
if changed == 1 then has_changed() end
return changed
