-- run: run a job once, now. A recurring job gets one more occurrence, and keeps its times. A waiting one-shot becomes due
-- now.
-- KEYS jobs next again slots wake first(1) first(2) first(3) changes
-- ARGV id due occurrence change undoable texts...
--      due: ms; occurrence: of a recurring job, '' = a one-shot
--      texts: the entry of the occurrence; or the texts that a one-shot may have in S:next and S:again
-- ->   1, or what undoes it | 0 (the job is gone, or waits nowhere)
-- part: slots
-- part: wake
-- part: changed
-- part: undoing
if redis.call('HEXISTS', jobs, id) == 0 then return 0 end
local stands, moved = 0, 0
if occurrence ~= '' then
  stands = 1
  watch('ZSCORE', again, ARGV[texts_at])
  watch('ZSCORE', slots, 'run:' .. id .. '\0' .. occurrence)
  if take_slot('run:' .. id, occurrence) == 1 then -- 0: a repeated request
    redis.call('ZADD', again, due, ARGV[texts_at])
    moved = 1
  end
else
  for i = texts_at, #ARGV do
    for _, key in ipairs({ next_, again }) do
      watch('ZSCORE', key, ARGV[i])
      if redis.call('ZSCORE', key, ARGV[i]) then
        moved = moved + redis.call('ZADD', key, 'XX', 'LT', 'CH', due, ARGV[i])
        stands = 1
      end
    end
    for level = 1, 3 do
      watch('ZSCORE', first[level], ARGV[i])
      redis.call('ZADD', first[level], 'XX', 'LT', due, ARGV[i])
    end
  end
end
if moved > 0 then note() end
if stands == 1 then wake_one() end
local undo = undoing()
return undo ~= '' and undo or stands
