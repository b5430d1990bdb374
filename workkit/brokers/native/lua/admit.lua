-- admit: before claims start: re-arm recurring jobs, open their occurrences, take turns and slots; what must wait is parked.
-- KEYS  1 S:jobs  2 S:running:<L>  3 S:next  4 S:slots  5 S:ended  6 S:waiting  7 S:again  8 S:control  9 S:rates
--       10 S:unique  11 S:counts  12 S:missed  13 S:cancelled  14 S:wake  15 S:first:1  16 S:first:2  17 S:first:3
-- ARGV  1 seq, then one msgpack map for each job: receipt; id; run: its occurrence; full: the record once admitted;
--       head and tail of an entry around its flags (parts of these: texts), nonce;
--       pause: its target, with as: the entry that is parked, and gives: the slots that it does not keep then;
--       chain {item, next due, '' = none, 1 if that may have come already} of a recurring job, with first: its priority,
--       count: how often it runs;
--       late: it is not to run; times: ticks passed over; missed {id, name, fn, due} for the record of either;
--       overlap: what becomes of it where its first key is full; turns {rate key, ms ...}; paid: they are taken;
--       keys {{limit key, limit, flag, 1 if it has this slot} ...}; drops: slots that it does not need any more;
--       frees: a unique key
-- ->    'gone' | 'old' | 'step', or 'ok', now in ms, a text with fractions, ms until the first turn of those that wait for
--       theirs (-1: none does), then a letter for each job:
--       g go | p parked | m missed, late | o missed, overlap | x its payload is gone | l no such record
--       e nothing is done: the next due time has come meanwhile, and is to be found anew
local jobs, running, next_, slots, ended, waiting, again = unpack(KEYS, 1, 7)
local control, rates, unique, counts, missed, cancelled, wake = unpack(KEYS, 8, 14)
local number = ARGV[1]
-- part: request
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local first_turn, due_now = nil, false
local LONGEST = 400 * 86400000 -- ms between two turns

local function taken(key) return redis.call('ZLEXCOUNT', slots, '[' .. key .. '\0', '(' .. key .. '\1') end
local function waits(key) return redis.call('ZRANGEBYLEX', waiting, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, 1)[1] end
-- part: id
-- part: entry
-- part: pause
-- part: counter
-- part: promote

local function give(m, key)
  redis.call('ZREM', slots, key .. '\0' .. m.run)
  due_now = promote(key) or due_now
end

local function park(m, key, entry)
  local ms = string.format('%016.0f', math.max(0, due_of(string.match(m.head, '^%a (%S+)') or '0')))
  redis.call('ZADD', waiting, 0, key .. '\0' .. ms .. '\0' .. m.run .. '\0' .. entry)
  redis.call('HDEL', running, m.receipt)
  return 'p'
end
local function note(fields, reason, times)
  redis.pcall('XADD', missed, 'MAXLEN', '~', 10000, '*', 'id', fields[1], 'name', fields[2], 'fn', fields[3], 'due', fields[4],
    'reason', reason, 'times', times) -- a stream that takes no more keeps nobody from running
end

local function arm(m, counted) -- put the next occurrence back, or mark the job as ended
  local item, due = m.chain[1], m.chain[2]
  if counted and m.count and add_to(counts, m.id, 1) >= m.count then due = '' end
  if due == '' then
    redis.call('SADD', ended, m.id)
    return
  end
  redis.call('ZADD', next_, 'NX', due, item) -- NX: whoever re-armed it first wins
  if m.first then redis.call('ZADD', KEYS[14 + m.first], 'NX', due, item) end
end

local function miss(m, reason)
  if m.chain then arm(m, false) end
  note(m.missed, reason, 1)
  redis.call('HDEL', running, m.receipt)
  redis.call('ZREM', slots, 'run:' .. m.id .. '\0' .. m.run)
  if redis.call('SISMEMBER', ended, m.id) == 1 and taken('run:' .. m.id) == 0 then
    redis.call('HDEL', jobs, m.id)
    redis.call('SREM', ended, m.id)
    redis.call('HDEL', counts, m.id)
  end
end

local function admitted(m)
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
  local over = m.overlap and m.keys[1]
  if over and over[4] == 0 and taken(over[1]) >= over[2] then
    if m.overlap == 'skip' or waits(over[1]) then
      miss(m, 'overlap')
      return 'o'
    end
    if m.overlap == 'cancel' then
      for _, slot in ipairs(redis.call('ZRANGEBYLEX', slots, '[' .. over[1] .. '\0', '(' .. over[1] .. '\1')) do
        redis.call('ZADD', cancelled, string.format('%.0f', now), string.sub(slot, #over[1] + 2))
      end
    end
  end
  if m.chain then
    arm(m, true)
    redis.call('ZADD', slots, 0, 'run:' .. m.id .. '\0' .. m.run)
    if m.times > 0 then note(m.missed, 'late', m.times) end
  end
  for _, key in ipairs(m.drops) do give(m, key) end
  local flags = {}
  local function entry() return m.head .. (#flags > 0 and table.concat(flags, ';') or '-') .. m.nonce .. m.tail end
  if m.paid or #m.turns > 0 then flags[1] = 'p' end
  if #m.turns > 0 then
    local at, last = now, due_of(redis.call('ZRANGE', again, -1, -1, 'WITHSCORES')[2] or '0')
    for k = 1, #m.turns, 2 do -- a turn that nobody can have taken is none: who has a later one waits in S:again
      local turn = tonumber(redis.call('ZSCORE', rates, m.turns[k]) or 0)
      if turn <= math.max(now, last) + LONGEST then at = math.max(at, turn) end
    end
    for k = 1, #m.turns, 2 do redis.call('ZADD', rates, string.format('%.3f', at + m.turns[k + 1]), m.turns[k]) end
    if at > now + 1 then
      for _, key in ipairs(m.keys) do
        if key[4] == 1 then flags[#flags + 1] = key[3] end
      end
      redis.call('ZADD', again, string.format('%.0f', math.ceil(at)), entry())
      redis.call('HDEL', running, m.receipt)
      if not first_turn or at < first_turn then first_turn = at end
      return 'p'
    end
  end
  for k, key in ipairs(m.keys) do
    flags[#flags + 1] = key[3]
    if key[4] == 0 then
      if taken(key[1]) >= key[2] then
        park(m, key[1], entry())
        for later = k + 1, #m.keys do -- it may have those from when it needed less: two that wait for each other would stay
          if m.keys[later][4] == 1 then give(m, m.keys[later][1]) end
        end
        return 'p'
      end
      redis.call('ZADD', slots, 0, key[1] .. '\0' .. m.run)
    end
  end
  if m.frees and string.match(redis.call('HGET', unique, m.frees) or '', '^%S*') == m.id then
    redis.call('HDEL', unique, m.frees)
  end
  redis.call('HSET', running, m.receipt, m.full)
  return 'g'
end

local answer = { 'ok', string.format('%.3f', now), -1 }
for i = 2, #ARGV do
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
    letter = admitted(m)
  end
  answer[#answer + 1] = letter
end
if due_now and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
if first_turn then answer[3] = string.format('%.3f', first_turn - now) end
redis.call('HSET', running, '@', ARGV[1])
return answer
