-- limits: the schedule's own limits, in its control key.
-- KEYS control
-- part: control
local function declare_limits(most, apart) -- how many runs at a time, ms between two starts ('' = none); 1 if they differed
  local changed = 0
  for field, wanted in pairs({ limit = most, turn_ms = apart }) do
    if (redis.call('HGET', control, field) or '') ~= wanted then
      if wanted == '' then redis.call('HDEL', control, field) else redis.call('HSET', control, field, wanted) end
      changed = 1
    end
  end
  if changed == 1 then has_changed() end
  return changed
end
