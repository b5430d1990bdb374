-- periodic: add the runs of periodic jobs that are still to come, unless some pool did so just now. Equal runs are once.
-- KEYS worker_pools last_periodic_enqueue scheduled held
-- ARGV now prefix rows...
--      now: second from which the runs were counted; rows: three for each: name, second, text
-- ->   1 added | 0 another pool did so at most 2 s ago
-- part: clock
-- part: names
-- part: fleet
local last = tonumber(redis.call('GET', last_periodic_enqueue) or '')
if last and math.abs(last - tonumber(now)) <= 2 then return 0 end
local present, is_held = tonumber(time_or_now('')), {}
for i = rows_at, #ARGV, 3 do
  local name, second, text = unpack(ARGV, i, i + 2)
  if is_held[name] == nil then is_held[name] = must_hold(name) end
  if second * 1000 > present then -- what is due meanwhile may have run already
    local key = scheduled
    if not is_held[name] or redis.call('ZSCORE', scheduled, text) then
      redis.call('ZREM', held, text) -- a Go pool has added it, or none buries it any more
    else
      key = held
    end
    if redis.call('ZADD', key, second, text) == 1 and redis.call('ZRANK', key, text) == 0 then wake(name) end
  end
end
redis.call('SET', last_periodic_enqueue, now)
return 1
