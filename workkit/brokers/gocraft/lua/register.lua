-- register: list a pool, with its heartbeat, its names and their limits.
-- KEYS worker_pools worker_pool(pool) record(pool) known_jobs paused_all
-- ARGV pool prefix count rows...
--      rows: the fields of the heartbeat, then two for each of `count` names: name, limit ('' = it says none)
-- ->   now
-- part: clock
-- part: names
-- part: known
local now = time_or_now('')
local names_at = #ARGV - 2 * tonumber(count) + 1
redis.call('SET', record, '0 []', 'EX', 3600)
redis.call('SADD', worker_pools, pool)
local beat = string.format('%d', math.floor(now / 1000))
redis.call('HSET', worker_pool, 'heartbeat_at', beat, 'started_at', beat, unpack(ARGV, rows_at, names_at - 1))
for i = names_at, #ARGV, 2 do
  know(ARGV[i])
  if ARGV[i + 1] ~= '' then redis.call('SET', queue_of(ARGV[i]) .. ':max_concurrency', ARGV[i + 1]) end
end
return now
