-- move: put due jobs into their queues, if some living pool serves them; leave the others. Repeating it changes nothing.
-- KEYS worker_pools scheduled retry held held_retry unreadable
-- ARGV now prefix rows...
--      rows: four for each: place of its sorted set, its bytes, name ('' = it cannot be read), its bytes in the queue
-- ->   how many were moved or set aside
-- part: names
-- part: fleet
local function takes(key, kind)
  local stands = redis.call('TYPE', key).ok
  return stands == kind or stands == 'none'
end
local sets, moved = { scheduled, retry, held, held_retry }, 0
for i = rows_at, #ARGV, 4 do
  local from, bytes, name, text = sets[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if name == '' then
    if takes(unreadable, 'zset') and redis.call('ZREM', from, bytes) == 1 then
      redis.call('ZADD', unreadable, math.floor(now / 1000), bytes)
      moved = moved + 1
    end
  elseif is_served(name) and takes(queue_of(name), 'list') and redis.call('ZREM', from, bytes) == 1 then
    redis.call('LPUSH', queue_of(name), text)
    wake(name)
    moved = moved + 1
  end
end
return moved
