-- doubt: a message was published, and its confirm is lost. Find out by its unique key whether a listener has taken it. If
-- not, note that it may come twice: as it was published first, and as a copy.
-- KEYS unique unique_until doubted
-- ARGV keep till rows...
--      keep: for how many ms a key is held before its message is confirmed; till: for how many ms from now a copy may come
--      rows: two for each message: its key, its id
-- ->   for each: 1 a listener has had it, 0 nobody knows
-- part: clock
local now = tonumber((server_ms()))
local answer = {}
for i = rows_at, #ARGV, 2 do
  local key, id = ARGV[i], ARGV[i + 1]
  local ends = tonumber(redis.call('ZSCORE', unique_until, key) or 0)
  if redis.call('HGET', unique, key) ~= id or ends > now + tonumber(keep) then -- a listener holds a key for longer, and frees it
    answer[#answer + 1] = 1
  else
    redis.call('HSET', doubted, id, '')
    local left = redis.call('PTTL', doubted)
    if left < tonumber(till) then redis.call('PEXPIRE', doubted, till) end
    answer[#answer + 1] = 0
  end
end
return answer
