-- reap: fence a listener whose beat stopped, and hand its records back. Decides nothing else; any listener continues a half-done one.
-- KEYS listeners running(listener) again skip(listener) wake progress(listener) next crashed
-- ARGV whom seen lease most
--      whom: the listener; seen: its beat when it was looked at; lease: ms; most: records to move
-- ->   'alive', or moved, left
-- part: clock
-- part: handback
-- part: wake
local beat = redis.call('ZSCORE', listeners, whom)
if not beat or tonumber(beat) ~= tonumber(seen) or tonumber(beat) > tonumber((server_ms())) - tonumber(lease) then
  return { 'alive' }
end
redis.call('HDEL', running, '@')
local moved, left = 0, 0
local all = redis.call('HGETALL', running)
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local member = string.match(field, '^%d+%.(.*)$')
  if member then
    if moved >= tonumber(most) then
      left = left + 1
    else
      hand_back(value, member, 1)
      redis.call('HDEL', running, field)
      moved = moved + 1
    end
  end
end
if left == 0 then
  redis.call('DEL', running, skip, progress)
  redis.call('ZREM', listeners, whom)
end
if moved > 0 then wake_one() end
return { moved, left }
