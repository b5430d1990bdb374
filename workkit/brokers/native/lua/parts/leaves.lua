-- leaves: every exit from S:jobs passes here. Remove the payload and its tags from the index, note under its lasting key how it
-- ended, and settle it in its groups (spec/groups.md). `labels` is a table with those of its `tags`, `once_key`, `batch` and
-- `after` that it has; `keep`: its result is kept. nil: read them. Most schedules have none: one question tells.
-- KEYS jobs tags held groups members feeds ends
-- part: clock
-- part: tags
-- part: groups
local is_labelled -- whether a job may have tags or a lasting key; nil: not asked yet

local function has_labels()
  if is_labelled == nil then is_labelled = redis.call('EXISTS', tags, held, groups) > 0 end
  if not is_labelled then is_grouped = is_grouped or false end
  return is_labelled or is_grouped
end

local function labels_of(payload) -- any program may have written it
  local has_some = false
  for _, text in ipairs({ '"tags"', '"once_key"', '"batch"', '"after"', '\\u' }) do
    has_some = has_some or payload and string.find(payload, text, 1, true)
  end
  local ok, read = pcall(cjson.decode, has_some and payload or '{}')
  local opts = ok and type(read) == 'table' and type(read.opts) == 'table' and read.opts or {}
  local found = { batch = payload and batch_in(payload) or nil }
  for _, label in ipairs({ 'once_key', 'after' }) do found[label] = type(opts[label]) == 'string' and opts[label] or nil end
  if type(opts.tags) == 'table' and #opts.tags <= 8 then
    found.tags = {}
    for _, text in ipairs(opts.tags) do
      if type(text) == 'string' and #text > 0 and #text <= 64 then found.tags[#found.tags + 1] = text end
    end
  end
  return found
end

local function each_tag(act, labels, id) -- act: 'tag' or 'untag'
  if not labels.tags then return end
  if not index then open_tags() end
  for _, text in ipairs(labels.tags) do index[act](text, id) end
end

local function holder_under(once_key) -- the id of the job that its window holds, how it ended, and when; nil: it has not ended
  local value = redis.pcall('HGET', held, 'once\0' .. once_key)
  if type(value) ~= 'string' then return nil end
  return string.match(value, '^(%S+) ?(%S*) ?(%d*)$')
end

local function hold(once_key, id, how) -- how it ended; nil: it has not
  redis.pcall('HSET', held, 'once\0' .. once_key, how and id .. ' ' .. how .. ' ' .. server_ms() or id)
end

local going_on = {} -- occurrences that have begun, and run on without their job: they settle as they end
local moving -- the id of a job that moves to another id in this step: its groups keep it
local settled, settle_member, settle_plain, forget_group, settle_all_of, rejoin
openers[#openers + 1] = function()
  function settle_member(g, name, how, is_listed, now)
    if (ask('ZREM', members, member_of(g, 'w', name)) or 0) == 0 then return end
    local letter = LETTERS[how] or 'V'
    if letter ~= 'k' or is_listed then redis.call('ZADD', members, 0, member_of(g, letter, name)) end
    local state, record
    if letter ~= 'k' then state, record = read_group(g) end
    if state == RUNS and record.on_death == 'cancel' and (letter == 'D' or record.of and string.find(FAILED, letter, 1, true)) then
      cancel_group(g, record, now)
    end
    finish(g, now)
  end

  local function fed_by(name) -- the groups of `after` of which it is a member. They stay fed until they are forgotten
    local found = {}
    for n, text in ipairs(ask('ZRANGEBYLEX', feeds, under(name)) or {}) do found[n] = string.sub(text, #name + 2) end
    return found
  end

  function settled(name, how, batch, is_listed)
    local now = server_ms()
    if batch then settle_member(group_of(batch), name, how, is_listed, now) end
    for _, g in ipairs(fed_by(name)) do settle_member(g, name, how, true, now) end
  end
  onward.settled = settled

  function settle_plain(batch, ids, raw) -- members that are done, and keep no result. raw: 20 bytes of each id
    local g, texts = group_of(batch), {}
    local of = bytes_of(g) .. 'w'
    for n = 1, #ids do texts[n] = of .. string.sub(raw, 20 * n - 19, 20 * n) end
    ask('ZREM', members, unpack(texts))
    finish(g, server_ms())
    if redis.call('EXISTS', feeds) == 0 then return end
    for _, id in ipairs(ids) do settled(id, 'done') end
  end

  function forget_group(g) -- up to 1,000 of its members; and the group, if none is left
    local texts = ask('ZRANGEBYLEX', members, '[' .. bytes_of(g), '[' .. bytes_of(g) .. '\255', 'LIMIT', 0, 1000) or {}
    for _, text in ipairs(texts) do ask('ZREM', feeds, name_of(text) .. '\0' .. g) end
    if #texts > 0 then redis.call('ZREM', members, unpack(texts)) end
    if #texts < 1000 then ask('HDEL', groups, g) end
    return #texts
  end

  function settle_all_of(id, how, labels)
    if moving == id then return end
    settled(id, how, labels.batch, labels.keep)
    for _, text in ipairs(ask('ZRANGEBYLEX', feeds, '[' .. id .. '@', '(' .. id .. 'A') or {}) do -- its occurrences
      local run = string.match(text, '^[^%z]*')
      if not going_on[run] then settled(run, how) end
    end
    if labels.after and how ~= 'dead' and how ~= 'cancelled' then forget_group(string.sub(id, 1, 16)) end -- else it may return
  end

  function rejoin(name, batch, was) -- a member that has ended, under the name `was`, has not; in a group of `after`, while it waits
    local now_in = fed_by(was)
    if batch then now_in[#now_in + 1] = group_of(batch) end
    for n, g in ipairs(now_in) do
      local state = read_group(g)
      for letter in string.gmatch(batch and n == #now_in and 'wkDCXEMRVL' or state == RUNS and 'wkDCXEMRVL' or '', '.') do
        if ask('ZREM', members, member_of(g, letter, was)) == 1 then redis.call('ZADD', members, 0, member_of(g, 'w', name)) end
      end
      if name ~= was and ask('ZREM', feeds, was .. '\0' .. g) == 1 then redis.call('ZADD', feeds, 0, name .. '\0' .. g) end
    end
  end
end

local function leave(id, how, labels) -- S:jobs
  labels = labels or has_labels() and labels_of(redis.call('HGET', jobs, id)) or {}
  redis.call('HDEL', jobs, id)
  each_tag('untag', labels, id)
  if labels.once_key and holder_under(labels.once_key) == id then hold(labels.once_key, id, how) end
  if how ~= 'done' then redis.pcall('HSET', ends, id, how .. ' ' .. server_ms()) end
  if has_groups() then settle_all_of(id, how, labels) end
end

local function join(id, payload, was) -- S:jobs again. `was`: the id that it had when it died
  local labels = labels_of(payload) -- also where the index is empty now
  each_tag('tag', labels, id)
  redis.pcall('HDEL', ends, id)
  if has_groups() then rejoin(id, labels.batch, was or id) end
  local holder = labels.once_key and holder_under(labels.once_key)
  if holder and (holder == id or holder == was) then hold(labels.once_key, id) end
end
