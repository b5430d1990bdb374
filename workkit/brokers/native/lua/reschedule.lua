-- reschedule: give an item of S:next another due time, or take it out where its job is gone; if its score is still the one
-- that was read.
-- KEYS jobs next wake first(1) first(2) first(3)
-- ARGV item score id due
--      score: of the item, as it was read; id: of its job
--      due: ms; '' = now; '-' = take the item out, if S:jobs lacks the job
-- ->   1 | 0 (the item is gone or has another score; or its job is gone; or, with '-', is there)
-- part: clock
-- part: wake
local stood = redis.call('ZSCORE', next_, item)
if not stood or tonumber(stood) ~= tonumber(score) then return 0 end
local has_job = redis.call('HEXISTS', jobs, id) == 1
if due == '-' then
  if has_job then return 0 end
  return redis.call('ZREM', next_, item)
end
if not has_job then return 0 end
due = time_or_now(due)
redis.call('ZADD', next_, due, item)
for level = 1, 3 do redis.call('ZADD', first[level], 'XX', due, item) end
wake_one()
return 1
