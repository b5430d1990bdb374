-- reap: put the jobs that a pool has in progress back to the head of their queues, in their order, give its slots back, and
-- take it off the list. Only while its heartbeat is still the one that was seen. What was cancelled does not come again.
-- KEYS worker_pools worker_pool(pool) record(pool) taken(pool) known_jobs crashes cancelled(pool)
-- ARGV pool prefix beat limit is_dead names...
--      beat: its heartbeat as it was seen, '' = none, '*' = any; is_dead: '1' counts each job as one that a pool died with
-- ->   how many were put back, how many are left; or 'alive'
-- part: names
-- part: locks
local function told(field) -- of the heartbeat
  local text = redis.pcall('HGET', worker_pool, field)
  return type(text) == 'string' and text or ''
end
local function takes(key, kind)
  local stands = redis.call('TYPE', key).ok
  return stands == kind or stands == 'none'
end
if beat ~= '*' and told('heartbeat_at') ~= beat then return { 'alive' } end
local all = takes(known_jobs, 'set') and redis.call('SMEMBERS', known_jobs) or {}
for name in string.gmatch(told('job_names'), '[^,]+') do all[#all + 1] = name end
for i = names_at, #ARGV do all[#all + 1] = ARGV[i] end
local seen, moved, left = {}, 0, 0
local is_any_cancelled = redis.call('EXISTS', cancelled) == 1
for _, name in ipairs(all) do
  if not seen[name] then
    seen[name] = true
    local list, count = in_progress_of(name, pool), 0
    local length = takes(list, 'list') and takes(queue_of(name), 'list') and redis.call('LLEN', list) or 0
    while length > 0 and moved < tonumber(limit) do
      local text = redis.call('LPOP', list)
      local is_over = is_any_cancelled and redis.pcall('SREM', cancelled, text) == 1
      if not is_over then redis.call('RPUSH', queue_of(name), text) end
      if is_dead == '1' and not is_over and takes(crashes, 'hash') then
        redis.pcall('HINCRBY', crashes, mark_of(text), 1)
        redis.call('EXPIRE', crashes, 86400)
      end
      length, count, moved = length - 1, count + 1, moved + 1
    end
    left = left + length
    if count > 0 then
      free(name, pool, count)
      wake(name)
    end
  end
end
if left == 0 then
  for name in pairs(seen) do
    local info = queue_of(name) .. ':lock_info'
    local rest = takes(info, 'hash') and tonumber(redis.call('HGET', info, pool) or '')
    if rest then
      if rest ~= 0 then free(name, pool, rest) end
      redis.call('HDEL', info, pool)
    end
  end
  for id in string.gmatch(told('worker_ids'), '[^,]+') do
    redis.call('DEL', prefix .. 'worker:' .. id)
  end
  redis.call('DEL', worker_pool, record, taken, cancelled)
  redis.call('SREM', worker_pools, pool)
end
return { moved, left }
