-- interrupt: cancel one run of a job, which stays. Its listener sees the mark with its next heartbeat and ends the run.
-- KEYS running(listener) cancelled changes
-- ARGV field occurrence change
--      field: of the record of the run
-- ->   1 | 0 (its listener does not have it any more)
-- part: clock
-- part: changed
if redis.call('HEXISTS', running, field) == 0 then return 0 end
local now = server_ms()
redis.call('ZADD', cancelled, now, occurrence)
note()
return 1
