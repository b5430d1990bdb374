-- settings: fields of the control key with their values, '' = none.
-- KEYS control
-- part: control
local function declare_settings(first) -- the arguments from `first` on are fields and values; 1 if any differed
  local changed = 0
  for place = first, #ARGV, 2 do
    local field, wanted = ARGV[place], ARGV[place + 1]
    if (redis.call('HGET', control, field) or '') ~= wanted then
      if wanted == '' then redis.call('HDEL', control, field) else redis.call('HSET', control, field, wanted) end
      changed = 1
    end
  end
  if changed == 1 then has_changed() end
  return changed
end
