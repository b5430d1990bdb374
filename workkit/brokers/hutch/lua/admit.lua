-- admit: before runs start: take all slots that each needs, if its rates allow a start now. One that must wait takes nothing.
-- KEYS running(listener) slots rates unique unique_until
-- ARGV most rows...
--      most: how many may start
--      rows: one msgpack map for each run:
--        field, run
--        keys: {limit key, limit, ...}; turns: {rate key, ms between two starts, ...}
--        frees: the unique key that it gives up when it starts; id: its message id
-- ->   'gone', or 'ok', then for each: -1 it may start, -2 it waits for a slot, -3 the listener does not hold it, else ms
--      (a text) until its rates allow a start
-- part: registration
-- part: growth
-- part: clock
-- part: slots
-- part: starts
-- part: unique
if not last_number() then return { 'gone' } end
allow_growth(running)
local ms, past = server_ms()
local now = tonumber(ms) + past
local left = tonumber(most)

local function is_full(m)
  for k = 1, #m.keys, 2 do
    local key, limit = m.keys[k], m.keys[k + 1]
    if not redis.call('ZSCORE', slots, key .. '\0' .. m.run) and count_slots(key) >= limit then return true end
  end
end

local function admit(m)
  if redis.call('HEXISTS', running, m.field) == 0 then return -3 end
  if left <= 0 or is_full(m) then return -2 end
  local at = next_start_of(m.turns, now + LONGEST) - SLACK
  if at > now + 1 then return string.format('%.3f', at - now) end
  for k = 1, #m.keys, 2 do take_slot(m.keys[k], m.run) end
  note_start(m.turns, now)
  if m.frees then free(m.frees, m.id) end
  left = left - 1
  return -1
end

local answer = { 'ok' }
for i = rows_at, #ARGV do answer[#answer + 1] = admit(cmsgpack.unpack(ARGV[i])) end
return answer
