-- declare: set settings of the schedule, if they differ from these.
-- KEYS control
-- ARGV settings...
--      settings: fields of S:control with their values, '' = none: limit, of runs at a time; turn_ms, between two starts; history
-- ->   1 they differed | 0
-- part: control
local changed = 0
for place = settings_at, #ARGV, 2 do
  local field, wanted = ARGV[place], ARGV[place + 1]
  if (redis.call('HGET', control, field) or '') ~= wanted then
    if wanted == '' then redis.call('HDEL', control, field) else redis.call('HSET', control, field, wanted) end
    changed = 1
  end
end
if changed == 1 then has_changed() end
return changed
