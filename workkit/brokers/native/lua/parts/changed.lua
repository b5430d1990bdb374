-- changed: say who changes what, in the step that does so. `change` is a msgpack list of the fields and values of an entry of
-- S:changes; '' = nobody is named. Nothing here may stop a change: a key of another type is left alone.
-- KEYS changes
-- ARGV change
-- part: instant
local function note(...) -- further fields and values; it answers the number of the entry, or what refused it
  if change == '' then return end
  local fields = cmsgpack.unpack(change)
  for _, one in ipairs({ ... }) do fields[#fields + 1] = one end
  return redis.pcall('XADD', changes, 'MAXLEN', '~', 10000, entry_id(changes), unpack(fields))
end
