-- add: put jobs where they wait, payload and item in one step; a known id is left alone.
-- KEYS  1 S:jobs  2 S:next  3 S:producer:<token>  4 S:wake  5 S:cancelled
-- ARGV  1 seq  2 now ms, or '' for this server's clock
--       then five for each job: id, payload, due ms ('' = now), second id, second payload ('' = none: known is known)
-- ->    now, then for each job 1 new | 0 known | 2 stored as its second variant
local jobs, next_, producer, wake, cancelled = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local seq = ARGV[1]
local stored = redis.call('GET', producer)
if stored then
  local last, answer = string.match(stored, '^(%d+) (.*)$')
  if tonumber(last) >= tonumber(seq) then return cjson.decode(answer) end
end
local now = ARGV[2]
if now == '' then
  local t = redis.call('TIME')
  now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2]
local earliest = nil
local marks = redis.call('EXISTS', cancelled) == 1
local answer = { now }
for i = 3, #ARGV, 5 do
  local id, payload, due = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local state = redis.call('HSETNX', jobs, id, payload)
  if state == 0 and ARGV[i + 3] ~= '' then
    id = ARGV[i + 3]
    state = redis.call('HSETNX', jobs, id, ARGV[i + 4]) * 2
  end
  if state > 0 then
    if due == '' then due = now end
    redis.call('ZADD', next_, due, '{"id":"' .. id .. '"}')
    if marks then redis.call('ZREM', cancelled, id) end
    if not earliest or tonumber(due) < earliest then earliest = tonumber(due) end
  end
  answer[#answer + 1] = state
end
if earliest and (not head or earliest < tonumber(head)) and redis.call('LLEN', wake) == 0 then
  redis.call('LPUSH', wake, 1)
end
redis.call('SET', producer, seq .. ' ' .. cjson.encode(answer), 'PX', 600000)
return answer
