-- declare: set the schedule's own limits, if they differ from these.
-- KEYS control
-- ARGV settings...
--      settings: fields of the control key with their values, '' = none: limit, of runs at a time; turn_ms, between two starts
-- ->   1 they differed | 0
-- part: settings
return declare_settings(settings_at)
