-- trace: keep the trace context of jobs that the next script of the same write adds. A job that is known keeps its own.
-- KEYS jobs trace(ids)...
-- ARGV rows...
--      trace: two keys for each job, those of both ids; that of the first one again, where there is no second
--      rows: four for each job: id, second id ('' = none), ms to keep it, context
-- ->   how many contexts were kept
local kept, seen = 0, {}
for i = rows_at, #ARGV, 4 do
  local place, id = (i - rows_at) / 2, ARGV[i]
  if seen[id] or redis.call('HEXISTS', jobs, id) == 1 then
    place, id = place + 1, ARGV[i + 1]
  end
  if id ~= '' and not seen[id] and redis.call('HEXISTS', jobs, id) == 0 then
    seen[id] = true
    kept = kept + 1
    redis.call('SET', KEYS[trace_at + place], ARGV[i + 3], 'PX', ARGV[i + 2])
  end
end
return kept
