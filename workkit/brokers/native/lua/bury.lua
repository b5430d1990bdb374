-- bury: move what cannot be read into the dead set with its bytes, while it still stands as it was read.
-- KEYS  1 S:jobs  2 S:next  3 S:dead  4 S:graves  5 S:stats
-- ARGV  1 id ('' = items without one that can be read)  2 SHA-1 of its payload  3 dead id  4 grave
--       5.. its items in S:next
-- ->    1 | 0 (gone, or another payload by now)
local jobs, next_, dead, graves, stats = unpack(KEYS)
local id = ARGV[1]
-- part: counter
if id ~= '' then
  local payload = redis.call('HGET', jobs, id)
  if not payload or redis.sha1hex(payload) ~= ARGV[2] then return 0 end
end
local waited = 0
for i = 5, #ARGV do waited = waited + redis.call('ZREM', next_, ARGV[i]) end
if id == '' and waited == 0 then return 0 end
local t = redis.call('TIME')
redis.call('ZADD', dead, t[1] .. string.format('%03d', math.floor(t[2] / 1000)), ARGV[3])
redis.call('HSET', graves, ARGV[3], ARGV[4])
if id ~= '' then redis.call('HDEL', jobs, id) end
add_to(stats, 'corrupt:' .. math.floor(t[1] / 3600), 1)
return 1
