-- declare: set the schedule's own limits, where they are not these.
-- KEYS  1 S:control
-- ARGV  1 limit, '' = none  2 ms between two starts, '' = none
-- ->    1 they were others | 0
local control, changed = KEYS[1], 0
-- part: control
for i, field in ipairs({ 'limit', 'turn_ms' }) do
  if (redis.call('HGET', control, field) or '') ~= ARGV[i] then
    if ARGV[i] == '' then redis.call('HDEL', control, field) else redis.call('HSET', control, field, ARGV[i]) end
    changed = 1
  end
end
if changed == 1 then has_changed() end
return changed
