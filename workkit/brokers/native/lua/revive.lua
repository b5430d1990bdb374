-- revive: put dead occurrences back, so that they run again. Skip those that are no longer dead. A repetition changes nothing.
-- KEYS dead graves jobs next again slots ended cancelled wake changes tags held names unique first(1) first(2) first(3)
-- KEYS groups members feeds ends waiting
-- KEYS result(revived)...
-- ARGV revivals change
--      revivals: msgpack list of maps: dead (its dead id), id, payload, delay ms, and one of
--        item: a one-shot, or a new job in its place; name, key, first: its name, its unique key, its priority
--        entry, occurrence: one occurrence of a recurring job, which may be over
--        result: of a one-shot, the place of its key among the results: the failure that it left there is forgotten
-- ->   for each: revived | gone (it is not dead any more) | waits (S:jobs has the same job already)
-- part: clock
-- part: slots
-- part: wake
-- part: changed
-- part: graves
-- part: holder
local now = server_ms()
local answer, due_now, revived = {}, false, 0
for i, e in ipairs(cmsgpack.unpack(revivals)) do
  local state = 'revived'
  if not redis.call('ZSCORE', dead, e.dead) then
    state = 'gone'
  elseif e.item and redis.call('HSETNX', jobs, e.id, e.payload) == 0 then
    state = 'waits'
  else
    local due = string.format('%.0f', tonumber(now) + e.delay)
    if e.item then
      redis.call('ZADD', next_, 'NX', due, e.item)
      if e.first then redis.call('ZADD', first[e.first], 'NX', due, e.item) end
      regain(names, e.name, e.id)
      regain(unique, e.key, e.id)
    else
      -- a recurring job that is over has no payload: it gets one until its last open occurrence ends
      if redis.call('HSETNX', jobs, e.id, e.payload) == 1 then redis.call('SADD', ended, e.id) end
      take_slot('run:' .. e.id, e.occurrence)
      redis.call('ZADD', again, due, e.entry)
    end
    redis.call('ZREM', cancelled, e.id)
    leave_dead({ e.dead }, true)
    join(e.id, e.payload, string.sub(e.dead, 1, 40))
    if e.occurrence and has_groups() then rejoin(e.occurrence, nil, e.dead) end
    if e.result then
      local kept = KEYS[result_at + e.result]
      redis.call('DEL', kept)
    end
    if e.delay == 0 then due_now = true end
    revived = revived + 1
  end
  answer[i] = state
end
if due_now then wake_one() end
if revived > 0 then note('times', revived) end
return answer
