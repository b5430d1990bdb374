-- mend: repair what nothing refers to: no item, no entry, no record. Each repair applies only while that is so.
-- KEYS  1 S:jobs  2 S:next  3 S:again  4 S:listeners  5 S:slots  6 S:ended  7 S:errors  8 S:wake  9 S:waiting  10 S:counts
--       then S:running:<L> of every listener
-- ARGV  1 msgpack list of the listeners that were listed when the keys were gathered
--       2 1: S:next holds items under other texts than ours, so look at each of them; else 0
--       3 msgpack list of what may be repaired, each a map: id, a job that nothing refers to; or with it mark:
--         'slot' (under key) | 'error' of an occurrence that nothing refers to, or 'ended' of a job that has no open run, or waits for its next;
--         or mark 'free' of a limit key, without id, for which entries are parked though it has room; or mark 'parked'
--         of a member of S:waiting, without id, that is no parked entry: it goes to S:again, for a listener to bury.
--         What applies: next {item, due ms or '' = now}; sweep 1: the mark goes, and a payload that waited for it;
--         what is parked for a slot goes on as far as there is room
--         Without these it is only looked at
-- ->    'changed' (a listener came), or for each 1 nothing refers to it (repaired, if told so) | 0 something does
local jobs, next_, again, listeners, slots, ended, errors, wake, waiting, counts = unpack(KEYS, 1, 10)
local names, list = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[3])
local known = {}
for _, name in ipairs(names) do known[name] = true end
for _, name in ipairs(redis.call('ZRANGE', listeners, 0, -1)) do
  if not known[name] then return 'changed' end
end
local wanted, jobs_held, runs_held = {}, {}, {}
for _, s in ipairs(list) do
  if s.id then wanted[s.id] = true end
end

-- part: id
-- part: entry
local function hold(due, flags, member)
  local id = id_of(member)
  if not wanted[id] then return end
  jobs_held[id] = true
  local nonce = string.match(flags, '#(.*)$')
  runs_held[id .. '@' .. due_text(due) .. (nonce and nonce ~= '' and '#' .. nonce or '')] = true
end

local function hold_entry(text, member)
  local kind, due, _, _, flags, item = parts_of(text)
  if kind then hold(due, flags, item) elseif member then hold(text, '-', member) end
end

for i = 11, #KEYS do
  local all = redis.call('HGETALL', KEYS[i])
  for k = 1, #all, 2 do
    local member = string.match(all[k], '^%d+%.(.*)$')
    if member then hold_entry(all[k + 1], member) end
  end
end
for from = 0, redis.call('ZCARD', again) - 1, 1000 do
  for _, entry in ipairs(redis.call('ZRANGE', again, from, from + 999)) do hold_entry(entry) end
end
for from = 0, redis.call('ZCARD', waiting) - 1, 1000 do
  for _, member in ipairs(redis.call('ZRANGE', waiting, from, from + 999)) do
    local entry = string.match(member, '^.-%z%d+%z[^%z]*%z(.*)$')
    if entry then hold_entry(entry) end
  end
end
if ARGV[2] == '1' then
  for from = 0, redis.call('ZCARD', next_) - 1, 1000 do
    for _, item in ipairs(redis.call('ZRANGE', next_, from, from + 999)) do
      local id = id_of(item)
      if wanted[id] then jobs_held[id] = true end
    end
  end
end

local function taken(key) return redis.call('ZLEXCOUNT', slots, '[' .. key .. '\0', '(' .. key .. '\1') end
local function is_open(id) return taken('run:' .. id) > 0 end

-- part: promote

local function is_loose(s)
  if s.mark == 'free' then return next_parked(s.key) end
  if s.mark == 'parked' then return redis.call('ZSCORE', waiting, s.member) end
  if s.mark == 'slot' then
    return not runs_held[s.occurrence] and redis.call('ZSCORE', slots, s.key .. '\0' .. s.occurrence)
  elseif s.mark == 'error' then
    return not runs_held[s.occurrence] and redis.call('HEXISTS', errors, s.occurrence) == 1
  end
  local last, waits = redis.call('SISMEMBER', ended, s.id) == 1, redis.call('ZSCORE', next_, '{"id":"' .. s.id .. '"}')
  if s.mark == 'ended' then return last and (waits or not (jobs_held[s.id] or is_open(s.id))) end
  if jobs_held[s.id] or waits then return false end
  return redis.call('HEXISTS', jobs, s.id) == 1 and not (last and is_open(s.id))
end

local function end_job(id)
  redis.call('HDEL', jobs, id)
  redis.call('SREM', ended, id)
  redis.call('HDEL', counts, id)
end

local woken = false
local function sweep(s)
  if s.mark == 'error' then
    redis.call('HDEL', errors, s.occurrence)
  elseif s.mark == 'ended' then -- what still waits for its next run is not over
    if redis.call('ZSCORE', next_, '{"id":"' .. s.id .. '"}') then redis.call('SREM', ended, s.id) else end_job(s.id) end
  elseif s.mark == 'free' then
    woken = promote(s.key) or woken
  elseif s.mark == 'parked' then
    redis.call('ZREM', waiting, s.member)
    redis.call('ZADD', again, 0, s.member)
    woken = true
  else
    redis.call('ZREM', slots, s.key .. '\0' .. s.occurrence)
    if string.sub(s.key, 1, 4) ~= 'run:' then
      woken = promote(s.key) or woken
      return
    end
    if redis.call('SISMEMBER', ended, s.id) == 1 and not is_open(s.id) then end_job(s.id) end
  end
end

local answer = {}
for i, s in ipairs(list) do
  answer[i] = is_loose(s) and 1 or 0
  if answer[i] == 1 then
    if s.next then
      local due = s.next[2]
      if due == '' then
        local t = redis.call('TIME')
        due = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
      end
      redis.call('ZADD', next_, due, s.next[1])
      redis.call('SREM', ended, s.id)
      woken = true
    end
    if s.sweep then sweep(s) end
  end
end
if woken and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return answer
