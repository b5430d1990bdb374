-- log: keep what runs have logged so far, of each only if the listener holds its record. Remove the lines of runs that ended well.
-- KEYS running(listener) logs
-- ARGV lines...
--      lines: three for each run: its receipt; its name; its last lines, '' = it ended well
-- ->   'gone' or 'ok'
-- part: registration
-- part: growth
-- part: logs
if not last_number() then return 'gone' end
allow_growth(running)
for i = lines_at, #ARGV, 3 do
  if ARGV[i + 2] == '' or redis.call('HEXISTS', running, ARGV[i]) == 1 then keep_log(ARGV[i + 1], ARGV[i + 2]) end
end
return 'ok'
