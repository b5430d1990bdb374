-- add: put jobs into queues and sorted sets, in one step.
-- KEYS producer(token) worker_pools known_jobs scheduled held paused_all
-- ARGV number batch prefix rows...
--      batch: how many rows came before these, and a digest of all rows with these; '' = no batch
--      rows: six for each: name, text, second in which it is due ('' = now), unique key ('' = none), what the key holds,
--            how many seconds it lives
-- ->   now in ms, then for each 1 new | 0 known; or 'old'
-- part: producer
-- part: clock
-- part: names
-- part: fleet
-- part: known
local now = time_or_now('')
reserve()
local answer, queued, order, known = { now }, {}, {}, {}

local function later(name, text, due)
  local is_held = must_hold(name)
  if redis.call('ZSCORE', is_held and scheduled or held, text) then return 0 end
  local key = is_held and held or scheduled
  local is_new = redis.call('ZADD', key, 'NX', due, text)
  if is_new == 1 and redis.call('ZRANK', key, text) == 0 then wake(name) end
  return is_new
end

for i = rows_at, #ARGV, 6 do
  local name, text, due, key, value, life = unpack(ARGV, i, i + 5)
  local state = 1
  known[name] = true
  if key ~= '' and not redis.call('SET', key, value, 'EX', life, 'NX') then
    redis.call('SET', key, value, 'EX', life)
    state = 0
  elseif due ~= '' then
    state = later(name, text, due)
  else
    if not queued[name] then
      queued[name] = {}
      order[#order + 1] = name
    end
    queued[name][#queued[name] + 1] = text
  end
  answer[#answer + 1] = tostring(state)
end
for _, name in ipairs(order) do
  redis.call('LPUSH', queue_of(name), unpack(queued[name]))
  wake(name)
end
for name in pairs(known) do know(name) end
remember(cjson.encode(answer))
return answer
