-- requeue: take jobs out of the sorted sets in which they wait or are dead, and put them to the left of their queues, or
-- let them wait for a time. A job that is no longer where it was found stays as it is; so does one whose queue is no list.
-- KEYS worker_pools known_jobs scheduled retry held held_retry dead paused_all
-- ARGV prefix rows...
--      rows: five for each: place of its sorted set, its bytes, name, its new bytes, second in which it is due ('' = now)
-- ->   for each: revived | gone | unreadable
-- part: names
-- part: fleet
-- part: known
local sets, answer = { scheduled, retry, held, held_retry, dead }, {}
for i = rows_at, #ARGV, 5 do
  local from, bytes, name, text, due = sets[tonumber(ARGV[i])], unpack(ARGV, i + 1, i + 4)
  local state, type_of = 'revived', redis.call('TYPE', queue_of(name)).ok
  if type_of ~= 'list' and type_of ~= 'none' then
    state = 'unreadable'
  elseif redis.call('ZREM', from, bytes) == 0 then
    state = 'gone'
  else
    know(name)
    if due == '' then
      redis.call('LPUSH', queue_of(name), text)
      wake(name)
    else
      redis.call('ZADD', must_hold(name) and held or scheduled, due, text)
    end
  end
  answer[#answer + 1] = state
end
return answer
