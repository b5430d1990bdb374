-- reschedule: give an item of S:next another due time, or remove it because its job is gone. Do nothing if its score is no
-- longer the one that the caller read. Further items get another time in the same step, or none of them.
-- KEYS jobs next wake first(1) first(2) first(3) lately days runs changes deadlines groups members feeds ends waiting cancelled tags
-- KEYS held
-- ARGV item score id due ran change undoable by further...
--      score: of the item, as the caller read it; id: of its job
--      due: ms; '' = now; '-' = remove the item, if S:jobs does not have the job
--      by: its deadline: its name in S:deadlines, a blank, ms; '' = none
--      further: of each further item: item, score, id, due, change, by
--      ran: msgpack: the record of the occurrence that is left out, as for the part `ran`; '' = none
-- ->   1, or what undoes it | 0 (the item is gone or has another score; or its job is gone; or, with '-', is there)
-- part: clock
-- part: wake
-- part: ran
-- part: changed
-- part: undoing
-- part: entry
-- part: deadlines
-- part: leaves
local stood = redis.call('ZSCORE', next_, item)
if not stood or tonumber(stood) ~= tonumber(score) then return 0 end
local has_job = redis.call('HEXISTS', jobs, id) == 1
if due == '-' then
  if has_job then return 0 end
  for level = 1, 3 do redis.call('ZREM', first[level], item) end
  return redis.call('ZREM', next_, item)
end
if not has_job then return 0 end
for i = further_at, #ARGV, 6 do
  local other = redis.call('ZSCORE', next_, ARGV[i])
  if not other or tonumber(other) ~= tonumber(ARGV[i + 1]) or redis.call('HEXISTS', jobs, ARGV[i + 2]) == 0 then return 0 end
end
due = time_or_now(due)
local left_out = ran ~= '' and cmsgpack.unpack(ran)
watch('ZSCORE', next_, item)
for level = 1, 3 do watch('ZSCORE', first[level], item) end
if left_out then watch('HGET', lately, left_out[1]) end
local function move(one, at, of, before, deadline)
  local run, ms = string.match(deadline, '^(.*) (%d+)$')
  local former = occurrence_of(of, before, '-')
  if has_groups() and left_out and one == item then
    settled(former, 'missed')
  elseif has_groups() then
    rejoin(occurrence_of(of, at, '-'), nil, former)
  end
  if run then
    watch('ZSCORE', deadlines, former)
    watch('ZSCORE', deadlines, run)
    forget_deadline(former)
    set_deadline(run, ms)
    expect(run, at)
  end
  redis.call('ZADD', next_, at, one)
  for level = 1, 3 do redis.call('ZADD', first[level], 'XX', at, one) end
end
move(item, due, id, score, by)
wake_one()
if left_out then adds(runs, record(left_out)) end
note()
for i = further_at, #ARGV, 6 do
  move(ARGV[i], ARGV[i + 3], ARGV[i + 2], ARGV[i + 1], ARGV[i + 5])
  change = ARGV[i + 4]
  note()
end
local undo = undoing()
return undo ~= '' and undo or 1
