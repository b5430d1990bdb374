-- resume: end a pause of a name, or of the whole namespace. A name stays paused while the whole namespace is, and a name
-- that was paused by itself stays so when the namespace is resumed.
-- KEYS known_jobs paused_all paused_names
-- ARGV prefix name
-- ->   whether it was paused
-- part: names
-- part: pausing
if name ~= '' then
  redis.call('SREM', paused_names, name)
  if redis.pcall('GET', paused_of(name)) == WITH_ALL then return 0 end
  local was = redis.call('DEL', paused_of(name))
  pause_with_all(name)
  if was == 1 then wake(name) end
  return was
end
local was = redis.call('DEL', paused_all)
for _, known in ipairs(redis.call('SMEMBERS', known_jobs)) do
  if redis.pcall('GET', paused_of(known)) == WITH_ALL then redis.call('DEL', paused_of(known)) end
  if was == 1 then wake(known) end
end
return was
