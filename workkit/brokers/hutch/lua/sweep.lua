-- sweep: look for what a run has left, or remove it, if its listener has no record of the run.
-- KEYS running(listener) slots begun counted
-- ARGV mode mark field name run
--      mode: 'look' | 'remove'; mark: 'slot' | 'begun' | 'counted'; field: of the record of this run
--      name: the member of `slots`, the place in `begun`, or the run in `counted`; run: the listener and the field
-- ->   1 it is left over | 0 the run has a record, or nothing is left of it
if redis.call('HEXISTS', running, field) == 1 then return 0 end
local function is_left()
  if mark == 'slot' then return redis.call('ZSCORE', slots, name) end
  if mark == 'begun' then return redis.call('HGET', begun, name) == run end
  return redis.call('HEXISTS', counted, name) == 1
end
if not is_left() then return 0 end
if mode ~= 'remove' then return 1 end
if mark == 'slot' then return redis.call('ZREM', slots, name) end
return redis.call('HDEL', mark == 'begun' and begun or counted, name)
