-- taking: take due work from the queues, as much as a claim has room for.
-- KEYS next again first crashed running turns
-- ARGV now
-- part: entry
-- part: due
local taken = {} -- for each: member and due text, or entry and ''; id

local function take_plain(room) -- S:next is the only queue
  taken = read(next_, room, false)
  if #taken > 0 then redis.call('ZREMRANGEBYRANK', next_, 0, #taken - 1) end -- exactly those that were read
end

local function take_listed(level, room) -- by an index of S:next. Only what S:next has is taken
  local listed = read(first[level], room - #taken, false)
  while #listed > 0 do
    local n = 0
    for _, t in ipairs(listed) do
      if #taken == room then break end
      n = n + 1
      local score = redis.call('ZSCORE', next_, t[1])
      if score and tonumber(score) > tonumber(now) then -- the index is wrong
        redis.call('ZADD', first[level], score, t[1])
      else
        if score then
          redis.call('ZREM', next_, t[1])
          t[2], taken[#taken + 1] = score, t
        end
        redis.call('ZREM', first[level], t[1])
      end
    end
    took_from(first[level], listed, n)
    listed = #taken < room and read(first[level], room - #taken, false) or {}
  end
end

local function take_in_order(room, has_entries) -- from S:next and S:again, by due time
  local queue = #taken < room and read(next_, room - #taken, false) or {}
  local others = has_entries and #taken < room and read(again, room - #taken, true) or {}
  local i, k, from = 1, 1, #taken + 1
  while #taken < room and (queue[i] or others[k]) do
    if queue[i] and (not others[k] or queue[i][4] <= others[k][4]) then
      taken[#taken + 1], i = queue[i], i + 1
    else
      taken[#taken + 1], k = others[k], k + 1
    end
  end
  local held = {} -- by a rate, until now
  for n = from, #taken do
    local t = taken[n]
    redis.call('ZREM', t[5], t[1])
    if t[2] == '' and string.find(t[1], '^%a %S+ %d+ %d+ p;t') then held[#held + 1] = t[1] end
  end
  if #held > 0 then redis.pcall('ZREM', turns, unpack(held)) end -- a key of another type must not stop a claim
  took_from(next_, queue, i - 1)
  took_from(again, others, k - 1)
end

local function take_crashes() -- of items that dead listeners held: they become entries, which contain their crashes
  if #taken == 0 or redis.call('EXISTS', crashed) == 0 then return end
  local runs = {}
  for i, t in ipairs(taken) do runs[i] = occurrence_of(t[3], t[2], '-') end
  local counts = redis.pcall('HMGET', crashed, unpack(runs)) -- a key of another type must not stop a claim
  for i, n in ipairs(counts.err and {} or counts) do
    local t = taken[i]
    if n and t[2] ~= '' and #n < 10 and string.find(n, '^%d+$') then
      t[1], t[2] = 'r ' .. t[2] .. ' 0 ' .. n .. ' - ' .. t[1], ''
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
      taken[#taken + 1] = { member, entry and '' or value, entry and id_in(member) or not entry and id_of(member) or '' }
    end
  end
end
