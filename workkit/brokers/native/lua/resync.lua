-- resync: after a failover that lost some of a listener's steps, agree on what it holds. A repetition changes nothing.
-- KEYS running(listener) again wake next crashed
-- ARGV number records...
--      records: two for each that the listener holds: receipt, kind and flags (r-: it is not admitted)
-- ->   'gone' | 'old', or 'ok', then the receipts that it must give up: the server does not have them, or not their admission
-- part: registration
-- part: growth
-- part: handback
-- part: wake
local last = last_number()
if not last then return { 'gone' } end
if tonumber(number) < last then return { 'old' } end
allow_growth(running)
redis.call('HSET', running, '@', number)
local believed, answer = {}, { 'ok' }
for i = records_at, #ARGV, 2 do believed[ARGV[i]] = ARGV[i + 1] end
local all, moved = redis.call('HGETALL', running), false
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local member = string.match(field, '^%d+%.(.*)$')
  if member then
    local kind, _, _, _, flags = parts_of(value)
    if believed[field] and (believed[field] == 'r-' or believed[field] == (kind or 'r') .. (flags or '-')) then
      believed[field] = nil -- both sides know it
    else
      hand_back(value, member, 0)
      redis.call('HDEL', running, field)
      moved = true
    end
  end
end
for i = records_at, #ARGV, 2 do
  if believed[ARGV[i]] then answer[#answer + 1] = ARGV[i] end
end
if moved then wake_one() end
return answer
