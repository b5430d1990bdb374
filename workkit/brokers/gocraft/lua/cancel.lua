-- cancel: remove a waiting job, with the unique key that it holds. Mark a running job: its pool, one of ours, interrupts
-- it, and it does not run again. A Go pool reads no marks.
-- KEYS scheduled retry held held_retry crashes worker_pools
-- ARGV prefix rows...
--      rows: four for each text of the job: place of its sorted set ('q' = its queue, 'p' = in progress), name of its
--            queue, its bytes, its unique key ('' = it holds none), or the pool that runs it
-- ->   for each: removed | marked | foreign | gone
-- part: names
local sets, answer = { scheduled, retry, held, held_retry }, {}

local function mark(name, text, pool)
  if not redis.call('LPOS', in_progress_of(name, pool), text) then return 'gone' end
  local is_ours = redis.call('EXISTS', prefix .. 'workkit:pool:' .. pool) == 1
  if not is_ours or redis.call('SISMEMBER', worker_pools, pool) == 0 then return 'foreign' end
  local key = prefix .. 'workkit:cancelled:' .. pool
  redis.call('SADD', key, text)
  redis.call('EXPIRE', key, 86400)
  return 'marked'
end

local function remove(place, name, text, key)
  local count
  if place == 'q' then
    count = redis.call('LREM', queue_of(name), -1, text)
  else
    count = redis.call('ZREM', sets[tonumber(place)], text)
  end
  if count == 0 then return 'gone' end
  -- a job that a pool died with has given its key free before: it may be that of a newer job
  if key ~= '' and redis.pcall('HEXISTS', crashes, mark_of(text)) ~= 1 then redis.call('DEL', key) end
  return 'removed'
end

for i = rows_at, #ARGV, 4 do
  local place, name, text, of = unpack(ARGV, i, i + 3)
  answer[#answer + 1] = place == 'p' and mark(name, text, of) or place ~= 'p' and remove(place, name, text, of)
end
return answer
