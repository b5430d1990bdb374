-- requeue: take jobs out of the sorted sets in which they wait or are dead, and put them to the left of their queues, or
-- let them wait for a time. A dead unique job takes its key again. A job stays as it is if it is no longer where it was
-- found, if its queue is no list, or if an equal job has its key.
-- KEYS worker_pools known_jobs scheduled retry held held_retry dead paused_all
-- ARGV prefix rows...
--      rows: eight for each: place of its sorted set, its bytes, name, its new bytes, second in which it is due ('' = now),
--            the key to take ('' = none), what the key holds then, whether the job has it already
-- ->   for each: revived | gone | unreadable | waits
-- part: names
-- part: fleet
-- part: known
local sets, answer = { scheduled, retry, held, held_retry, dead }, {}

local function take_key(key, value, has_it, life)
  if has_it == '1' then return redis.call('SET', key, value, 'EX', life) end
  return redis.call('SET', key, value, 'EX', life, 'NX')
end

local function moved(from, bytes, name, text, due, key, value, has_it)
  local to = due == '' and queue_of(name) or must_hold(name) and held or scheduled
  local type_of = redis.call('TYPE', to).ok
  if type_of ~= 'none' and type_of ~= (due == '' and 'list' or 'zset') then return 'unreadable' end
  if not redis.call('ZSCORE', from, bytes) then return 'gone' end
  local life = 86400 + (due == '' and 0 or math.max(0, due - math.floor(time_or_now('') / 1000)))
  if key ~= '' and not take_key(key, value, has_it, life) then return 'waits' end
  know(name)
  redis.call('ZREM', from, bytes)
  if due == '' then
    redis.call('LPUSH', to, text)
    wake(name)
  else
    redis.call('ZADD', to, due, text)
  end
  return 'revived'
end

for i = rows_at, #ARGV, 8 do
  answer[#answer + 1] = moved(sets[tonumber(ARGV[i])], unpack(ARGV, i + 1, i + 7))
end
return answer
