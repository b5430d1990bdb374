-- after: jobs that run when others have ended: a group without a name (spec/groups.md).
-- KEYS jobs next members feeds ends names
-- ARGV group additions
-- part: predecessor
additions = cmsgpack.unpack(additions)
local is_grouping = group ~= '' -- whether these additions change groups. Few do
for _, m in ipairs(additions) do is_grouping = is_grouping or m.batch or m.before or m.over and has_groups() end
if is_grouping then open_groups() end

local function carry(m, was, due_was, id, due) -- what is kept of a job in its groups, now that it has another id
  moving = nil
  if not has_groups() then return end
  if not id then return settled(was, 'replaced', m.batch) end
  rejoin(id, m.batch, was)
  if due_was and m.recurs then rejoin(occurrence_of(id, due, '-'), nil, occurrence_of(was, due_was, '-')) end
end

local unknown_of, cancelled_by, wait_for, move_group
if is_grouping then
  local function is_once(payload) -- by its time, in the order of either dialect
    local cron = string.match(payload, '^{"args":%[[^{]-%],"cron":"([^"]*)","job":"') -- of most payloads
    if not cron then
      local ok, read = pcall(cjson.decode, payload)
      if not ok or type(read) ~= 'table' or type(read.cron) ~= 'string' then return true end
      cron = read.interval and '' or read.cron
    end
    return string.find(string.gsub(cron, '%*', '0', 1), '^%d+ %d+ %d+ %d+ %d+ %d+ %d+$') ~= nil
  end

  local function standing(b) -- of a predecessor {kind, what, is_known}: its name as a member, and the letter; nil: it is not known
    local kind, id, is_known, target = b[1], b[2], b[3], nil
    if kind == 'batch' then
      local g = group_of(id)
      local state, record = read_group(g)
      if not state then return nil end
      if type(record['then']) ~= 'string' then
        local ends = state == DONE and (has_any(g, 'D') and 'D' or 'k') or state == GIVEN_UP and 'C'
        return '=' .. g, ends or 'w'
      end
      id, is_known = record['then'], state == DONE
    elseif kind == 'name' then
      id, target = holder_of(names, id), id
      if not id then return nil end
    end
    local payload = redis.call('HGET', jobs, id)
    if payload and is_once(payload) then return id, 'w' end
    if payload then
      local ok, read = pcall(cjson.decode, payload)
      local name = target or ok and type(read.opts) == 'table' and read.opts.name or id
      local due = redis.call('ZSCORE', next_, item_of(id)) or place(id, name)
      return due and occurrence_of(id, due, '-'), 'w'
    end
    local how = ask('HGET', ends, id)
    how = type(how) == 'string' and LETTERS[string.match(how, '^%a+')] or is_known and 'k'
    if how then return id, how end
  end

  function unknown_of(list) -- what an addition of these waits for and nobody knows; 'soon': its next run is being claimed
    local added = {}
    for _, m in ipairs(list) do
      for _, b in ipairs(m.before or {}) do
        if not added[b[2]] then b.name, b.letter = standing(b) end
        if not added[b[2]] and not b.name then return b[2], b.letter == 'w' and 'soon' or '' end
        if #list > 1 then b.name = nil end -- others of this request may change it
      end
      added[m.id] = true
    end
  end

  function cancelled_by(m, now) -- the answer, if one of those that it runs after is not done
    local fails = false
    for _, b in ipairs(m.before or {}) do
      if not b.name then b.name, b.letter = standing(b) end
      if not b.name then b.name, b.letter = b[2], 'V' end -- this request has not added it, or has replaced it
      fails = fails or string.find(FAILED, b.letter, 1, true) ~= nil
    end
    if fails and m.on_death == 'cancel' then return '6', m.id, now, 'cancelled' end
  end

  local function add_all(key, list) -- members of a sorted set, with score 0
    for from = 1, #list, 1000 do
      local some = {}
      for k = from, math.min(from + 999, #list) do
        some[#some + 1], some[#some + 2] = 0, list[k]
      end
      redis.call('ZADD', key, unpack(some))
    end
  end

  function wait_for(m, id, now) -- make the group of a new job; whether it waits
    local g, total, waits, seen, entries, fed = string.sub(id, 1, 16), 0, false, {}, {}, {}
    for _, b in ipairs(m.before) do
      if not seen[b.name] then
        seen[b.name], total = true, total + 1
        entries[total] = member_of(g, b.letter, b.name)
        waits = waits or b.letter == 'w'
        if b.letter ~= 'k' then fed[#fed + 1] = b.name .. '\0' .. g end -- one that has failed may run again
      end
    end
    local record = { of = id, on_death = m.on_death, total = total, made = tonumber(now), added = tonumber(now) }
    record.settled = not waits and record.made or nil
    write_group(g, waits and RUNS or DONE, record)
    add_all(members, entries)
    if waits then add_all(feeds, fed) end
    return waits
  end

  function move_group(was, id) -- of a job that has predecessors, to its new id; whether it waits
    local from, to, after = string.sub(was, 1, 16), string.sub(id, 1, 16), nil
    local state, record = read_group(from)
    if not state or record.of ~= was then return false end
    record.of = id
    write_group(to, state, record)
    repeat
      local texts = redis.call('ZRANGEBYLEX', members, after or '[' .. bytes_of(from), '[' .. bytes_of(from) .. '\255', 'LIMIT', 0, 1000)
      local moved, fed = {}, {}
      for n, text in ipairs(texts) do
        moved[n], after = bytes_of(to) .. string.sub(text, 9), '(' .. text
        if redis.call('ZREM', feeds, name_of(text) .. '\0' .. from) == 1 then fed[#fed + 1] = name_of(text) .. '\0' .. to end
      end
      add_all(members, moved)
      add_all(feeds, fed)
    until #texts < 1000
    forget_group(from)
    return state == RUNS
  end
end
