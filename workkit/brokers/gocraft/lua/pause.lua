-- pause: let no pool take jobs of a name, or of any name, until somebody resumes it or a time has come. Repeating it
-- changes nothing.
-- KEYS known_jobs paused_all paused_names
-- ARGV prefix name value at
--      name: '' = all that are known, and those that become known; value: why, or 1; at: epoch ms, '' = for ever
-- ->   OK
-- part: names
-- part: pausing
if name ~= '' then
  redis.call('SADD', paused_names, name)
  set_until(paused_of(name), value, at)
  return 'OK'
end
set_until(paused_all, value, at)
for _, known in ipairs(redis.call('SMEMBERS', known_jobs)) do
  if redis.pcall('GET', paused_of(known)) == WITH_ALL then redis.call('DEL', paused_of(known)) end -- of a pause before
  pause_with_all(known)
end
return 'OK'
