-- settle: forget runs that are over, and free their slots. A repetition changes nothing.
-- KEYS running(listener) progress(listener) slots begun counted crashes unique unique_until
-- ARGV rows...
--      rows: one msgpack map for each run:
--        field, run, place
--        keys: the limit keys of its slots
--        how: 'over' for good | 'again' (it comes again) | 'lost' (the broker gives it to another listener, and this one lives)
--        key, id, keep: the unique key that it has, its message id, and for how many ms it keeps the key if it comes again
-- ->   how many records it removed
-- part: growth
-- part: clock
-- part: slots
-- part: runs
-- part: unique
allow_growth(running)
local now = tonumber((server_ms()))
local removed = 0
for i = rows_at, #ARGV do
  local m = cmsgpack.unpack(ARGV[i])
  removed = removed + redis.call('HDEL', running, m.field)
  redis.call('HDEL', progress, m.field)
  for _, key in ipairs(m.keys) do drop_slot(key, m.run) end
  local was_counted = end_run(m.place, m.run)
  if m.how == 'over' then
    redis.call('HDEL', crashes, m.place)
    if m.key then free(m.key, m.id) end
  else
    if m.how == 'lost' and was_counted then uncount(m.place) end
    if m.key then hold_if_free(m.key, m.id, now + m.keep, now) end
  end
end
return removed
