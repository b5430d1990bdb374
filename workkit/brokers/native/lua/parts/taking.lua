-- taking: take due work from the queues, as much as a claim has room for.
-- KEYS next again first crashed running turns skip cancelled jobs
-- ARGV now
-- part: entry
-- part: due
-- part: line
local taken, dues, ids = {}, {}, {} -- for each that is taken: member or entry; due text, '' of an entry; id
local told = {} -- the ids that the listener cannot read from an item by itself
local MANY = 20 -- jobs that are due at one time: then two more questions to the server pay

local function take(t) -- one that was read
  local n = #taken + 1
  taken[n], dues[n], ids[n], told[n] = t[1], t[2], t[3], t[3]
end

local function take_items(n, got, step, due) -- items after the n-th: members of this due text, or each with its own
  for i = 1, #got, step do
    local member = got[i]
    local id = plain_id(member)
    n = n + 1
    if not id then
      id = id_of(member)
      told[n] = id
    end
    taken[n], dues[n], ids[n] = member, due or got[i + 1], id
  end
  return n
end

local function read_alike(room) -- from the front, while many are due at one time: the server writes that time once for all
  local n = 0
  while room - n >= MANY do
    local due = redis.call('ZRANGE', next_, n, n, 'WITHSCORES')[2]
    local alike = due and tonumber(due) <= tonumber(now) and redis.call('ZCOUNT', next_, due, due) or 0
    if alike < MANY then return n end
    n = take_items(n, redis.call('ZRANGE', next_, n, math.min(room, n + alike) - 1), 1, due)
  end
  return n
end

local function take_plain(room) -- S:next is all that is due. Most claims come here: no table is made for each job
  local n = read_alike(room)
  local got = n < room and redis.call('ZRANGEBYSCORE', next_, '-inf', now, 'WITHSCORES', 'LIMIT', n, room - n) or {}
  n = take_items(n, got, 2)
  if n > 0 then redis.call('ZREMRANGEBYRANK', next_, 0, n - 1) end -- exactly those that were read
end

local function take_listed(level, room) -- by an index of S:next. Only what S:next has is taken
  local listed = read(first[level], room - #taken, false)
  while #listed > 0 do
    local members, had, gone, n = {}, {}, {}, #listed -- had: by S:next; gone: from the index
    for i = 1, n do members[i] = listed[i][1] end
    local scores = redis.call('ZMSCORE', next_, unpack(members))
    for i, t in ipairs(listed) do
      if #taken == room then
        n = i - 1
        break
      end
      local score = scores[i]
      if score and tonumber(score) > tonumber(now) then -- the index is wrong
        redis.call('ZADD', first[level], score, t[1])
      else
        if score then
          t[2], had[#had + 1] = score, t[1]
          take(t)
        end
        gone[#gone + 1] = t[1]
      end
    end
    if #had > 0 then redis.call('ZREM', next_, unpack(had)) end
    if #gone > 0 then redis.call('ZREM', first[level], unpack(gone)) end
    took_from(first[level], listed, n)
    listed = #taken < room and read(first[level], room - #taken, false) or {}
  end
end

local function remove(key, found, n) -- the first n of what was read
  if n > 0 and not cursor_of[key] then
    redis.call('ZREMRANGEBYRANK', key, 0, n - 1) -- nothing was read past
  elseif n > 0 then
    local members = {}
    for i = 1, n do members[i] = found[i][1] end
    redis.call('ZREM', key, unpack(members))
  end
  took_from(key, found, n)
end

local has_marks = nil -- whether any job is cancelled
local function is_over(entry) -- its job is cancelled or replaced: it ends without a turn
  local _, due, _, _, flags = parts_of(entry)
  local id = id_in(entry)
  if redis.call('HEXISTS', jobs, id) == 0 then return true end
  if has_marks == nil then has_marks = redis.call('EXISTS', cancelled) == 1 end
  if not has_marks then return false end
  return redis.call('ZSCORE', cancelled, id) or redis.call('ZSCORE', cancelled, occurrence_of(id, due, flags))
end

local function forget_turn(entry) -- it is held no longer
  redis.pcall('ZREM', turns, entry) -- a key of another type must not stop a claim
  leave_line(entry)
end

local function give_turns(held) -- of the entries at these places of `taken`: the first of each rate take them, others wait on
  local own, mine, next_starts, vacant, left = {}, {}, {}, {}, 1
  local function can_start(entry, turn) -- whether this listener may try
    if not is_over(entry) then return redis.call('SISMEMBER', skip, id_in(entry)) == 0 end
    vacant[#vacant + 1] = tonumber(turn)
    redis.call('ZADD', again, due_text(string.match(entry, '^%a (%S+)')), entry)
    forget_turn(entry)
    return 'gone'
  end
  for n, i in ipairs(held) do
    own[n], mine[taken[i]] = taken[i], true
    line_up(taken[i])
  end
  for n, i in ipairs(held) do
    local entry, turn = first_in_line(rates_in(own[n])[1], tonumber(now), next_starts, mine, can_start)
    while not entry and not mine[own[left]] do left = left + 1 end
    entry = entry or own[left]
    if mine[entry] then
      mine[entry] = nil
    else
      vacant[#vacant + 1] = tonumber(turn)
      redis.call('ZREM', again, entry)
    end
    forget_turn(entry)
    note_next_starts(entry, tonumber(now), next_starts)
    taken[i], ids[i] = entry, id_in(entry)
    told[i] = ids[i]
  end
  table.sort(vacant)
  for _, entry in ipairs(own) do
    if mine[entry] then
      local turn = string.format('%.0f', table.remove(vacant, 1))
      redis.call('ZADD', again, turn, entry)
      redis.pcall('ZADD', turns, turn, entry)
    end
  end
end

local function take_in_order(room, has_entries) -- from S:next and S:again, by due time
  local others = has_entries and #taken < room and read(again, room - #taken, true) or {}
  if #taken == 0 and #others == 0 and not cursor_of[next_] then return take_plain(room) end
  local queue = #taken < room and read(next_, room - #taken, false) or {}
  local i, k, held = 1, 1, {} -- held: the places in `taken` of those that a rate has held until now
  while #taken < room and (queue[i] or others[k]) do
    if queue[i] and (not others[k] or queue[i][4] <= others[k][4]) then
      take(queue[i])
      i = i + 1
    else
      take(others[k])
      local entry = others[k][1]
      if string.find(entry, ';t', 1, true) and rates_in(entry)[1] then
        if is_over(entry) then forget_turn(entry) else held[#held + 1] = #taken end
      end
      k = k + 1
    end
  end
  remove(next_, queue, i - 1)
  remove(again, others, k - 1)
  if #held > 0 then give_turns(held) end
end

local function take_crashes() -- of items that dead listeners held: they become entries, which contain their crashes
  if #taken == 0 or redis.call('EXISTS', crashed) == 0 then return end
  local runs = {}
  for i = 1, #taken do runs[i] = occurrence_of(ids[i], dues[i], '-') end
  local counts = redis.pcall('HMGET', crashed, unpack(runs)) -- a key of another type must not stop a claim
  for i, n in ipairs(counts.err and {} or counts) do
    if n and dues[i] ~= '' and #n < 10 and string.find(n, '^%d+$') then
      taken[i], dues[i], told[i] = 'r ' .. dues[i] .. ' 0 ' .. n .. ' - ' .. taken[i], '', ids[i]
      redis.call('HDEL', crashed, runs[i])
    end
  end
end

local function take_again(number) -- what the request with this number took. Its answer was lost
  local prefix = number .. '.'
  local all = redis.call('HGETALL', running)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, #prefix) == prefix then
      local member, value = string.sub(all[i], #prefix + 1), all[i + 1]
      local entry = string.find(value, ' ', 1, true)
      take({ member, entry and '' or value, entry and id_in(member) or not entry and id_of(member) or '' })
    end
  end
end
