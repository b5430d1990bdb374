-- reserve: hold unique keys for messages that are about to be published, until the producer says that they are.
-- KEYS unique unique_until
-- ARGV keep rows...
--      keep: for how many ms; rows: two for each message: its key, its id
-- ->   for each: '' it holds the key, or the id of the message that does
-- part: clock
-- part: unique
local now = tonumber((server_ms()))
local answer = {}
for i = rows_at, #ARGV, 2 do
  local holder = holder_of(ARGV[i], now)
  if not holder then hold(ARGV[i], ARGV[i + 1], now + tonumber(keep)) end
  answer[#answer + 1] = holder or ''
end
return answer
