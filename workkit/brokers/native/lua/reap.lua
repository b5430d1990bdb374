-- reap: fence a listener whose beats have stopped, and hand its records back. It decides nothing. If the caller dies before
-- all records are back, any other listener can continue.
-- KEYS listeners running(listener) again skip(listener) wake progress(listener) next crashed control
-- ARGV whom seen lease most
--      whom: the listener; seen: its last beat, as the caller saw it; lease: after this many ms without a beat it is dead
--      most: how many records to hand back
-- ->   'alive', or how many records went back, how many are left
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
  redis.call('HDEL', control, 'quiet:' .. whom)
end
if moved > 0 then wake_one() end
return { moved, left }
