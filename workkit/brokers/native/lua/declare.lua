-- declare: set the schedule's own limits, if they differ from these.
-- KEYS control
-- ARGV limit turn_ms
--      limit: of runs at a time, '' = none; turn_ms: between two starts, '' = none
-- ->   1 they differed | 0
-- part: limits
return declare_limits(limit, turn_ms)
