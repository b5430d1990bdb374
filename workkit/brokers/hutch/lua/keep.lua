-- keep: after a publication: hold the keys of messages that were taken as long as they may wait, and free the others.
-- KEYS unique unique_until
-- ARGV rows...
--      rows: three for each message: its key, its id, for how many ms it keeps the key (0: the key is free)
-- ->   'ok'
-- part: clock
-- part: unique
local now = tonumber((server_ms()))
for i = rows_at, #ARGV, 3 do
  local key, id, ms = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  if ms == 0 then
    free(key, id)
  elseif redis.call('HGET', unique, key) == id then -- a listener may have ended it already
    hold(key, id, now + ms)
  end
end
return 'ok'
