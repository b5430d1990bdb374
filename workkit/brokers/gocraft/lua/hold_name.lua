-- hold_name: put jobs that a Go pool would bury where no Go pool looks, with the times that they have.
-- KEYS worker_pools scheduled retry held held_retry
-- ARGV prefix place name texts...
--      place: 'scheduled' or 'retry'
-- ->   how many were moved
-- part: names
-- part: fleet
local from, to, moved = scheduled, held, 0
if place == 'retry' then from, to = retry, held_retry end
if not must_hold(name) then return 0 end
for i = texts_at, #ARGV do
  local at = redis.call('ZSCORE', from, ARGV[i])
  if at then
    redis.call('ZADD', to, at, ARGV[i])
    redis.call('ZREM', from, ARGV[i])
    moved = moved + 1
  end
end
return moved
