-- reschedule: give an item of S:next another due time, or remove it because its job is gone. Do nothing if its score is no
-- longer the one that the caller read.
-- KEYS jobs next wake first(1) first(2) first(3) lately days runs changes
-- ARGV item score id due ran change
--      score: of the item, as the caller read it; id: of its job
--      due: ms; '' = now; '-' = remove the item, if S:jobs does not have the job
--      ran: msgpack: the record of the occurrence that is left out, as for the part `ran`; '' = none
-- ->   1 | 0 (the item is gone or has another score; or its job is gone; or, with '-', is there)
-- part: clock
-- part: wake
-- part: ran
-- part: changed
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
if ran ~= '' then record(cmsgpack.unpack(ran)) end
note()
return 1
