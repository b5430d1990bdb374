-- reap: end the registration of a listener whose beats have stopped: free its slots, and count a crash for each message that it
-- held, unless that was counted when the broker delivered the message again.
-- KEYS listeners running(listener) progress(listener) slots begun counted crashes
-- ARGV whom seen lease
--      whom: the listener; seen: its last beat, as the caller saw it; lease: after this many ms without a beat it is dead
-- ->   how many messages it held, -1: it lives
-- part: clock
-- part: growth
-- part: runs
local beat = redis.call('ZSCORE', listeners, whom)
if not beat or tonumber(beat) ~= tonumber(seen) or tonumber(beat) > tonumber((server_ms())) - tonumber(lease) then
  return -1
end
allow_growth(running)
local held = 0
local all = redis.call('HGETALL', running)
for i = 1, #all, 2 do
  local run = whom .. '/' .. all[i]
  local ok, record = pcall(cmsgpack.unpack, all[i + 1])
  if string.find(all[i], '^%d+$') and ok and type(record) == 'table' then
    local place = tostring(record[1]) .. '\0' .. tostring(record[2])
    count_crash(place, run)
    end_run(place, run)
    held = held + 1
  end
end
for _, member in ipairs(redis.call('ZRANGE', slots, 0, -1)) do
  if string.sub(string.match(member, '%z([^%z]*)$') or '', 1, #whom + 1) == whom .. '/' then
    redis.call('ZREM', slots, member)
  end
end
redis.call('DEL', running, progress)
redis.call('ZREM', listeners, whom)
return held
