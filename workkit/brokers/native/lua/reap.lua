-- reap: fence a listener whose beat stopped, and hand its records back. Decides nothing else; any listener continues a half-done one.
-- KEYS  1 S:listeners  2 S:running:<X>  3 S:again  4 S:skip:<X>  5 S:wake  6 S:progress:<X>  7 S:next  8 S:crashed
-- ARGV  1 X  2 the beat that was seen  3 lease ms  4 most records to move
-- ->    'alive', or moved, left
local listeners, running, again, next_, crashed = KEYS[1], KEYS[2], KEYS[3], KEYS[7], KEYS[8]
-- part: id
-- part: entry
-- part: handback
local beat = redis.call('ZSCORE', listeners, ARGV[1])
local t = redis.call('TIME')
local now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
if not beat or tonumber(beat) ~= tonumber(ARGV[2]) or tonumber(beat) > tonumber(now) - tonumber(ARGV[3]) then
  return { 'alive' }
end
redis.call('HDEL', running, '@')
local moved, left, limit = 0, 0, tonumber(ARGV[4])
local all = redis.call('HGETALL', running)
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local member = string.match(field, '^%d+%.(.*)$')
  if member then
    if moved >= limit then
      left = left + 1
    else
      hand_back(value, member, 1)
      redis.call('HDEL', running, field)
      moved = moved + 1
    end
  end
end
if left == 0 then
  redis.call('DEL', running, KEYS[4], KEYS[6])
  redis.call('ZREM', listeners, ARGV[1])
end
if moved > 0 and redis.call('LLEN', KEYS[5]) == 0 then redis.call('LPUSH', KEYS[5], 1) end
return { moved, left }
