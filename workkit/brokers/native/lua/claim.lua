-- claim: take what is due and write this listener's records in the same step; a claim is also a beat.
-- KEYS  1 S:next  2 S:jobs  3 S:running:<L>  4 S:listeners  5 S:watch  6 S:wake  7 S:again  8 S:skip:<L>  9 S:cancelled
--       10 S:control  11 S:first:3  12 S:first:2  13 S:first:1  14 S:crashed
-- ARGV  1 L  2 seq  3 limit (1 to 1000)  4 now ms, or '' for this server's clock  5 version of S:control that L knows
--       6 cursors of the last claim that was answered, or ''
-- ->    'gone' | 'old' | 'step' (see spec/layouts/native.md, requests), or
--       'ok', now, ms until it should ask again, a text with fractions (-1: another listener watches, or nothing waits;
--       0: more is due),
--       which of the jobs are marked as cancelled (their numbers, from 1), S:control (fields and values) where it is not
--       as L knows it, cursors (bytes; '' where nothing is skipped), then four for each job: member or entry, due text (member) or '' (entry), id, payload or nil
local next_, jobs, running, listeners = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local watch, wake, again, skip, cancelled, control = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local me, number, limit, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- part: request
local past = 0 -- ms since the one called now
if now == '' then
  local t = redis.call('TIME')
  now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
  past = t[2] % 1000 / 1000
end

-- part: id
-- part: entry
-- part: pause
local function id_in(entry) -- the job of an entry; '' where it is none
  local _, _, _, _, _, item = parts_of(entry)
  return item and id_of(item) or ''
end

local taken = {} -- member, due text, id
local is_plain = redis.call('EXISTS', unpack(KEYS, 7, 14)) == 0 -- nothing but published keys
local seen_again = not is_plain and redis.call('EXISTS', again) == 1
local seen_skip = not is_plain and redis.call('EXISTS', skip) == 1
local seen_control = not is_plain and redis.call('EXISTS', control) == 1
local rests_until = nil -- ms: the schedule is paused
if seen_control then
  rests_until = paused_until(redis.call('HGET', control, 'paused:schedule'))
  if rests_until and rests_until <= tonumber(now) then rests_until = nil end
end

-- part: crowd
local SKIMMED = { next_, again, KEYS[11], KEYS[12], KEYS[13] } -- keys with a cursor, in the order of these
local cursors, is_all = {}, true
if seen_skip and not rests_until then
  local packed = ARGV[6] ~= '' and cmsgpack.unpack(ARGV[6]) or {}
  for n, key in ipairs(SKIMMED) do cursors[key] = new_cursor(packed[n]) end
end

local function read(key, most, is_entry) -- the first that are due and not skipped
  if rests_until then return {} end
  if seen_skip then
    local mine, is_end = read_past(key, cursors[key], most, is_entry)
    is_all = is_all and is_end
    return mine
  end
  local got = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  local found = {}
  for i = 1, #got, 2 do
    local id = is_entry and id_in(got[i]) or not is_entry and id_of(got[i]) or ''
    found[#found + 1] = { got[i], is_entry and '' or got[i + 1], id, tonumber(got[i + 1]), key }
  end
  return found
end

local function took_from(key, found, n)
  if cursors[key] then took(cursors[key], found, n) end
end

if repeated then -- asked again: the reply was lost
  local prefix = number .. '.'
  local all = redis.call('HGETALL', running)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, #prefix) == prefix then
      local member, value = string.sub(all[i], #prefix + 1), all[i + 1]
      local entry = string.find(value, ' ', 1, true)
      taken[#taken + 1] = { member, entry and '' or value, entry and id_in(member) or not entry and id_of(member) or '' }
    end
  end
else
  if not is_plain then
    for k = 11, 13 do -- an index of S:next; what counts is that it stood there
      if #taken < limit and redis.call('EXISTS', KEYS[k]) == 1 then
        local listed = read(KEYS[k], limit - #taken, false)
        while #listed > 0 do
          local n = 0
          for _, t in ipairs(listed) do
            if #taken == limit then break end
            n = n + 1
            local score = redis.call('ZSCORE', next_, t[1])
            if score and tonumber(score) > tonumber(now) then -- the index is wrong
              redis.call('ZADD', KEYS[k], score, t[1])
            else
              if score then
                redis.call('ZREM', next_, t[1])
                t[2], taken[#taken + 1] = score, t
              end
              redis.call('ZREM', KEYS[k], t[1])
            end
          end
          took_from(KEYS[k], listed, n)
          listed = #taken < limit and read(KEYS[k], limit - #taken, false) or {}
        end
      end
    end
  end
  local queue = #taken < limit and read(next_, limit - #taken, false) or {}
  if is_plain then
    taken = queue
    if #taken > 0 then redis.call('ZREMRANGEBYRANK', next_, 0, #taken - 1) end -- exactly those read
  else
    local others = seen_again and #taken < limit and read(again, limit - #taken, true) or {}
    local i, k, from = 1, 1, #taken + 1
    while #taken < limit and (queue[i] or others[k]) do
      if queue[i] and (not others[k] or queue[i][4] <= others[k][4]) then
        taken[#taken + 1], i = queue[i], i + 1
      else
        taken[#taken + 1], k = others[k], k + 1
      end
    end
    for n = from, #taken do redis.call('ZREM', taken[n][5], taken[n][1]) end
    took_from(next_, queue, i - 1)
    took_from(again, others, k - 1)
  end
  if not is_plain and #taken > 0 and redis.call('EXISTS', KEYS[14]) == 1 then -- what came back from listeners that died
    local runs = {}
    for i, t in ipairs(taken) do runs[i] = t[3] .. '@' .. due_text(t[2]) end
    local counts = redis.pcall('HMGET', KEYS[14], unpack(runs))
    for i, n in ipairs(counts.err and {} or counts) do
      local t = taken[i]
      if n and t[2] ~= '' and #n < 10 and string.find(n, '^%d+$') then
        t[1], t[2] = 'r ' .. t[2] .. ' 0 ' .. n .. ' - ' .. t[1], '' -- from here on an entry, which bears its crashes
        redis.call('HDEL', KEYS[14], runs[i])
      end
    end
  end
end

local reply = { 'ok', now, -1, {}, {}, repeated and ARGV[6] or '' }
if seen_skip and not repeated then
  local packed = {}
  for n, key in ipairs(SKIMMED) do packed[n] = pack_cursor(cursors[key]) end
  reply[6] = cmsgpack.pack(packed)
end
if seen_control and redis.call('HGET', control, 'v') ~= ARGV[5] then reply[5] = redis.call('HGETALL', control) end
local ids, records = {}, { '@', number }
for i, t in ipairs(taken) do
  ids[i] = t[3]
  if not repeated then
    records[#records + 1] = number .. '.' .. t[1]
    records[#records + 1] = t[2] == '' and t[1] or t[2]
  end
end
redis.call('HSET', running, unpack(records))
redis.call('ZADD', listeners, 'XX', now, me)
if #ids > 0 then
  local payloads = redis.call('HMGET', jobs, unpack(ids))
  for i, t in ipairs(taken) do
    local at = 4 * i + 2
    reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = t[1], t[2], t[3], payloads[i]
  end
  if not is_plain and redis.call('EXISTS', cancelled) == 1 then
    local runs = {} -- a mark may be of one run
    for i, t in ipairs(taken) do
      local kind, due, _, _, flags = parts_of(t[1])
      runs[i] = kind == 'o' and (t[3] .. '@' .. due_text(due) .. (string.match(flags, '#.*$') or '')) or t[3]
    end
    local marks, marked = redis.call('ZMSCORE', cancelled, unpack(ids)), redis.call('ZMSCORE', cancelled, unpack(runs))
    for i = 1, #ids do
      if marks[i] or marked[i] then reply[4][#reply[4] + 1] = i end
    end
  end
end

local function token()
  if redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
end

if rests_until then
  if rests_until < math.huge then reply[3] = string.format('%.3f', rests_until - tonumber(now)) end
  return reply
end
local function waits_in(key) -- whether something is due that this listener has not read past
  local c = cursors[key]
  return redis.call('ZCOUNT', key, '-inf', now) > (c and c.past or 0) or (c and c.hidden > 0)
end

if #taken < limit and not is_all then -- skipped so far; the next claim continues there
  reply[3] = 0
  return reply
end
local held = redis.call('GET', watch)
local due, owner
if held then due, owner = string.match(held, '^(%d+) (.*)$') end
if #taken >= limit then -- full: leave the rest, and the watch, to others
  local more = waits_in(next_) or (seen_again and waits_in(again))
  if owner == me then redis.call('DEL', watch) end
  if more or owner == me then token() end
  if more then reply[3] = 0 end
  return reply
end
local head = nil
for _, key in ipairs({ next_, again }) do
  local first = redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if first and (not head or tonumber(first) < head) then head = tonumber(first) end
end
if head and head < 9e15 then
  head = math.ceil(head)
  local wait = math.min(head - tonumber(now), 3600000)
  if not (due and owner ~= me and tonumber(due) <= head and tonumber(due) >= tonumber(now)) then
    redis.call('SET', watch, string.format('%.0f', head) .. ' ' .. me, 'PX', wait + 100)
    reply[3] = string.format('%.3f', wait - past)
  end
end
return reply
