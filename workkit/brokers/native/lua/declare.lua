-- declare: set the schedule's own limits, where they are not these.
-- KEYS  1 S:control
-- ARGV  1 limit, '' = none  2 ms between two starts, '' = none
-- ->    1 they were others | 0
local changed = 0
for i, field in ipairs({ 'limit', 'turn_ms' }) do
  if (redis.call('HGET', KEYS[1], field) or '') ~= ARGV[i] then
    if ARGV[i] == '' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, ARGV[i]) end
    changed = 1
  end
end
if changed == 1 then redis.call('HINCRBY', KEYS[1], 'v', 1) end
return changed
