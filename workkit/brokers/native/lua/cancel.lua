-- cancel: take a job out; what is out of the queue already is only marked, and ends by its mark.
-- KEYS  1 S:jobs  2 S:next  3 S:cancelled  4 S:ended
-- ARGV  1 id  2 1 if it recurs, else 0, then the texts under which its item may stand
-- ->    removed | marked | unknown
local id, recurs = ARGV[1], ARGV[2] == '1'
redis.call('HDEL', KEYS[1], '')
if redis.call('HEXISTS', KEYS[1], id) == 0 then return 'unknown' end
local waited = 0
for i = 3, #ARGV do waited = waited + redis.call('ZREM', KEYS[2], ARGV[i]) end
if waited > 0 and not recurs then
  redis.call('HDEL', KEYS[1], id)
  return 'removed'
end
local t = redis.call('TIME')
redis.call('ZADD', KEYS[3], t[1] .. string.format('%03d', math.floor(t[2] / 1000)), id)
if not recurs then return 'marked' end
redis.call('HDEL', KEYS[1], id)
redis.call('SREM', KEYS[4], id)
return waited > 0 and 'removed' or 'marked'
