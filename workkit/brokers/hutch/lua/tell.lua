-- tell: store the progress of runs, of each only if the listener holds its record. Remove the progress of runs that are over.
-- KEYS running(listener) progress(listener)
-- ARGV reports...
--      reports: two for each run: its field; its progress as JSON, '' = it is over
-- ->   'gone' or 'ok'
-- part: registration
-- part: growth
if not last_number() then return 'gone' end
allow_growth(running)
for i = reports_at, #ARGV, 2 do
  if ARGV[i + 1] ~= '' and redis.call('HEXISTS', running, ARGV[i]) == 1 then
    redis.call('HSET', progress, ARGV[i], ARGV[i + 1])
  else
    redis.call('HDEL', progress, ARGV[i])
  end
end
return 'ok'
