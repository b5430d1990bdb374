-- admit: before claims start: re-arm recurring jobs, open their occurrences, take turns and slots; what must wait is parked.
-- KEYS jobs running(listener) next slots ended waiting again control rates unique counts missed cancelled wake
-- KEYS first(1) first(2) first(3)
-- ARGV number claims...
--      claims: one msgpack map for each job: receipt; id; run: its occurrence; full: the record once admitted;
--      head and tail of an entry around its flags (parts of these: texts), nonce;
--      pause: its target, with as: the entry that is parked, and gives: the slots that it does not keep then;
--      chain {item, next due, '' = none, 1 if that may have come already} of a recurring job, with first: its priority,
--      count: how often it runs;
--      late: it is not to run; times: ticks passed over; missed {id, name, fn, due} for the record of either;
--      overlap: what becomes of it where its first key is full; turns {rate key, ms ...}; paid: they are taken;
--      keys {{limit key, limit, flag, 1 if it has this slot} ...}; drops: slots that it does not need any more;
--      frees: a unique key
-- ->   'gone' | 'old' | 'step', or 'ok', now in ms, a text with fractions, ms until the first turn of those that wait for
--      theirs (-1: none does), then a letter for each job:
--      g go | p parked | m missed, late | o missed, overlap | x its payload is gone | l no such record
--      e nothing is done: the next due time has come meanwhile, and must be computed again
-- part: request
-- part: clock
-- part: pause
-- part: promote
-- part: chain
-- part: turn
-- part: holder
-- part: wake
local ms, past = server_ms()
local now = tonumber(ms) + past
local first_turn, due_now = nil, false

local function give(m, key) due_now = free_slot(key, m.run) or due_now end

local function park(m, key, entry)
  redis.call('ZADD', waiting, 0, parked_member(key, string.match(m.head, '^%a (%S+)') or '0', m.run, entry))
  redis.call('HDEL', running, m.receipt)
  return 'p'
end

local function flagged(m, flags) return m.head .. (#flags > 0 and table.concat(flags, ';') or '-') .. m.nonce .. m.tail end

local function put_off(m, at, flags) -- until its turn; it keeps its slots
  for _, key in ipairs(m.keys) do
    if key[4] == 1 then flags[#flags + 1] = key[3] end
  end
  redis.call('ZADD', again, string.format('%.0f', math.ceil(at)), flagged(m, flags))
  redis.call('HDEL', running, m.receipt)
  if not first_turn or at < first_turn then first_turn = at end
  return 'p'
end

local function gives_way(m) -- to a run of the job before it: nil, or the letter of what became of it
  local key, limit, _, is_its_own = unpack(m.overlap and m.keys[1] or {})
  if not key or is_its_own ~= 0 or count_slots(key) < limit then return nil end
  if m.overlap == 'skip' or first_parked(key) then
    miss(m, 'overlap')
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
  if m.pause and paused_until(redis.call('HGET', control, 'paused:' .. m.pause)) then
    park(m, 'paused:' .. m.pause, m.as)
    for _, key in ipairs(m.gives) do give(m, key) end -- who waits for long keeps nobody else from running
    return 'p'
  end
  if m.late then
    miss(m, 'late')
    return 'm'
  end
  local letter = gives_way(m)
  if letter then return letter end
  if m.chain then open(m) end
  for _, key in ipairs(m.drops) do give(m, key) end
  local flags = {}
  if m.paid or #m.turns > 0 then flags[1] = 'p' end
  local at = #m.turns > 0 and take_turns(m, now) or now
  if at > now + 1 then return put_off(m, at, flags) end
  for k, key in ipairs(m.keys) do
    flags[#flags + 1] = key[3]
    if key[4] == 0 then
      if count_slots(key[1]) >= key[2] then
        park(m, key[1], flagged(m, flags))
        for later = k + 1, #m.keys do -- it may have those from when it needed less: two that wait for each other would stay
          if m.keys[later][4] == 1 then give(m, m.keys[later][1]) end
        end
        return 'p'
      end
      take_slot(key[1], m.run)
    end
  end
  if m.frees then release(unique, m.frees, m.id) end
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
