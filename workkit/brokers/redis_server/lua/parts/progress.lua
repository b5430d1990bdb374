-- progress: store the progress of runs, of each only if the listener holds its record. Remove the progress of runs that are over.
-- KEYS running progress
-- part: registration
-- part: growth
local function store_progress(from) -- from this argument on two for each run: the field of its record; JSON, '' = it is over
  if not last_number() then return 'gone' end
  allow_growth(running)
  for i = from, #ARGV, 2 do
    if ARGV[i + 1] ~= '' and redis.call('HEXISTS', running, ARGV[i]) == 1 then
      redis.call('HSET', progress, ARGV[i], ARGV[i + 1])
    else
      redis.call('HDEL', progress, ARGV[i])
    end
  end
  return 'ok'
end
