-- declare: set settings of the schedule, if they differ from these.
-- KEYS control changes
-- ARGV change settings...
--      settings: fields of S:control with their values, '' = none: limit, of runs at a time; turn_ms, between two starts; history
-- ->   1 they differed | 0
-- part: settings
-- part: changed
local changed = declare_settings(settings_at)
if changed == 1 then note() end
return changed
