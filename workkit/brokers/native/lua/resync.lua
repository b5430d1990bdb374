-- resync: after a failover that lost some of a listener's steps, agree on what it holds. Harmless when repeated.
-- KEYS  1 S:running:<L>  2 S:again  3 S:wake  4 S:next  5 S:crashed
-- ARGV  1 seq, then two for each record the listener believes to hold: receipt, kind and flags (r-: nothing decided)
-- ->    'gone' | 'old', or 'ok', then the receipts it must give up: the server lacks them, or their admission
local running, again, wake, next_, crashed = unpack(KEYS)
local stored = redis.call('HGET', running, '@')
if not stored or not string.find(stored, '^%d+$') then return { 'gone' } end
-- part: id
-- part: entry
-- part: handback
if tonumber(ARGV[1]) < tonumber(stored) then return { 'old' } end
redis.call('HDEL', running, '')
redis.call('HSET', running, '@', ARGV[1])
local believed, answer = {}, { 'ok' }
for i = 2, #ARGV, 2 do believed[ARGV[i]] = ARGV[i + 1] end
local all, moved = redis.call('HGETALL', running), false
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local member = string.match(field, '^%d+%.(.*)$')
  if member then
    local kind, _, _, _, flags = parts_of(value)
    if believed[field] and (believed[field] == 'r-' or believed[field] == (kind or 'r') .. (flags or '-')) then
      believed[field] = nil -- held on both sides
    else
      hand_back(value, member, 0)
      redis.call('HDEL', running, field)
      moved = true
    end
  end
end
for i = 2, #ARGV, 2 do
  if believed[ARGV[i]] then answer[#answer + 1] = ARGV[i] end
end
if moved and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return answer
