-- admit: before claims start: re-arm recurring jobs, open their occurrences, take turns and slots. Park claims that must wait.
-- KEYS jobs running(listener) next slots ended waiting again control rates unique counts missed cancelled wake
-- KEYS first(1) first(2) first(3) lately days runs turns order tags held deadlines groups members feeds ends
-- ARGV number claims...
--      claims: one msgpack map for each:
--        receipt, id
--        run: its occurrence
--        full: the record once it is admitted
--        head, tail, nonce: its entry is head, flags, nonce, tail
--        pause: the target whose pause may park it; then as: the entry to park, gives: the keys of slots that it gives up
--        chain: of a recurring job: {item, next due ms ('' = none), 1 if that time may have come already}
--        first: the priority of a recurring job; count: how often it runs at most
--        late: it is too late to run; times: how many ticks it leaves out; missed {id, name, fn, due}: what S:missed records
--        ring {field, listener}: the job in S:lately, and who records there what did not run
--        overlap: what happens if its first key is full: skip, queue, cancel
--        turns {rate key, ms, ...}; rates: for each of them, the flag of an entry that it holds; level: its priority; paid: it has
--        taken them, and they are checked once more
--        keys {{limit key, limit, flag, 1 if it has this slot}, ...}; drops: the keys of slots that it no longer needs
--        by: if its job has a deadline: its name in S:deadlines, its deadline; then those of the next occurrence, if there is one
--        frees: the unique key that it gives up when it starts
-- ->   'gone' | 'old' | 'step', or 'ok', now in ms (a text with fractions), ms until the first turn for which a claim
--      waits (-1: none waits), then a letter for each claim:
--      g go | p parked | m missed, late | o missed, overlap | x its payload is gone | l the listener does not hold it
--      e nothing is changed: the next due time has come meanwhile, and must be computed again
-- part: request
return (function() -- Lua makes the functions below faster if the keys are locals of another function
-- part: clock
-- part: pause
-- part: aside
-- part: chain
-- part: turn
-- part: holder
-- part: wake
local ms, past = server_ms()
local now = tonumber(ms) + past

local function overlaps(m) -- its letter if an earlier run keeps it from starting, else nil
  local key, limit, _, is_its_own = unpack(m.overlap and m.keys[1] or {})
  if not key or is_its_own ~= 0 or count_slots(key) < limit then return nil end
  if m.overlap == 'skip' or first_parked(key) then
    miss(m, 'overlap', now)
    return 'o'
  end
  if m.overlap == 'cancel' then
    for _, slot in ipairs(redis.call('ZRANGEBYLEX', slots, under(key))) do
      redis.call('ZADD', cancelled, string.format('%.0f', now), string.sub(slot, #key + 2))
    end
  end
end

local function admit(m)
  if m.chain and m.chain[2] ~= '' and m.chain[3] == 0 and m.chain[2] <= now then return 'e' end
  local till = m.pause and paused_until(redis.call('HGET', control, 'paused:' .. m.pause))
  if till then
    if m.by then expect(m.by[1], till) end
    park(m, 'paused:' .. m.pause, m.as)
    for _, key in ipairs(m.gives) do give_up(m, key) end -- a pause may be long: other occurrences may run meanwhile
    return 'p'
  end
  if m.late then
    miss(m, 'late', now)
    return 'm'
  end
  local letter = overlaps(m)
  if letter then return letter end
  if m.chain then open(m, now) end
  for _, key in ipairs(m.drops) do give_up(m, key) end
  local flags = {}
  if m.paid or #m.turns > 0 then flags[1] = 'p' end
  local at = #m.turns > 0 and turns_of(m, now) or now
  if at > now + 1 or #m.turns > 0 and not m.paid and gives_way(m, now) then return put_off(m, at, flags) end
  for k, key in ipairs(m.keys) do
    flags[#flags + 1] = key[3]
    if key[4] == 0 then
      if count_slots(key[1]) >= key[2] then
        park(m, key[1], entry_of(m, flags))
        for later = k + 1, #m.keys do -- otherwise two could wait for each other's slots for ever
          if m.keys[later][4] == 1 then give_up(m, m.keys[later][1]) end
        end
        return 'p'
      end
      take_slot(key[1], m.run)
    end
  end
  if m.frees then release(unique, m.frees, m.id) end
  note_start(m.turns, now)
  redis.call('HSET', running, m.receipt, m.full)
  return 'g'
end

local answer = { 'ok', string.format('%.3f', now), -1 }
for i = claims_at, #ARGV do
  local m = cmsgpack.unpack(ARGV[i])
  local value = redis.call('HGET', running, m.receipt)
  local letter
  if not value then
    letter = repeated and 'p' or 'l'
  elseif repeated and value == m.full then
    letter = 'g'
  elseif redis.call('HEXISTS', jobs, m.id) == 0 then
    letter = 'x'
  else
    letter = admit(m)
  end
  answer[#answer + 1] = letter
end
if due_now then wake_one() end
if first_turn then answer[3] = string.format('%.3f', first_turn - now) end
redis.call('HSET', running, '@', number)
return answer
end)()
