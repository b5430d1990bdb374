-- group: act on one group of spec/groups.md.
-- KEYS jobs next groups rows members feeds ends waiting again cancelled wake tags held stats deadlines slots changes
-- KEYS first(1) first(2) first(3)
-- ARGV mode g more payload change
--      mode: release = give 1,000 jobs of a closed batch to the listeners | cancel = a batch; members that wait end, some at a time
--        | follow = let the job `more` with this payload run when the members of a settled batch have ended that run again
--        | forget = 1,000 members of a group, and the group | lost = which members are nowhere | lose = settle those
--        | free = let go what is parked for a group that is gone, or has settled; of one that is gone the members leave
--      g: its id; more: of cancel, lost and lose the member of S:members after which they look, '' = from the first
-- ->   'unknown', or how many are left | the place behind the last member that was looked at ('' = there is no further one);
--      names of lost members; the batches that have ended, as settle answers them
-- part: leaves
-- part: overdue
-- part: queue
-- part: stats
-- part: changed
open_groups()
local now = server_ms()
local state, record = read_group(g)

local function is_plain(payload) -- its end changes no other key
  return not (string.find(payload, '"name":', 1, true) or string.find(payload, '"unique', 1, true)
    or string.find(payload, '"keep', 1, true) or string.find(payload, '\\u', 1, true))
end

local function come(key, from, to) -- members that wait in this way come now: claims leave them out
  for _, text in ipairs(redis.call(from and 'ZRANGEBYLEX' or 'ZRANGE', key, from or 0, to or 9999)) do
    local entry = key == waiting and parked_entry(text) or parts_of(text) and text
    local _, _, _, _, _, item = parts_of(entry or '')
    if item and redis.call('ZSCORE', members, member_of(g, 'w', id_of(item))) then
      if key == waiting then redis.call('ZREM', waiting, text) end
      redis.call('ZADD', again, now, entry)
    end
  end
end

local function cancel_some() -- the place behind them, '' = no further
  local texts, count = some_of(g, 'w', 500, more ~= '' and more or nil), 0
  for _, text in ipairs(texts) do
    local id = name_of(text)
    local payload = redis.call('HGET', jobs, id)
    if payload and not redis.call('ZSCORE', next_, item_of(id)) then let_go('after:' .. string.sub(id, 1, 16), now) end
    if not payload then
      settled(id, 'lost', record.name)
    elseif is_plain(payload) and take_out(item_of(id)) == 1 then
      forget_deadline(id)
      leave(id, 'cancelled')
      count = count + 1
    else
      redis.call('ZADD', next_, 'XX', now, item_of(id))
      for level = 1, 3 do redis.call('ZADD', first[level], 'XX', now, item_of(id)) end
    end
  end
  if count > 0 then tally('cancelled', count, now) end
  return #texts == 500 and texts[500] or ''
end

local function is_lost(name, payload) -- nobody will settle it
  if string.sub(name, 1, 1) == '=' then return not read_group(string.sub(name, 2)) end
  if #name > 40 and redis.call('ZSCORE', slots, 'run:' .. string.sub(name, 1, 40) .. '\0' .. name) then return false end
  return not payload or #name > 40 and standing(name) == false
end

local function lost_ones(settles) -- the place behind the last member, '' = no further; their names
  local texts, ids, lost = some_of(g, 'w', 1000, more ~= '' and more or nil), {}, {}
  for n, text in ipairs(texts) do ids[n] = string.sub(name_of(text), 1, 40) end
  for n, payload in ipairs(#ids > 0 and redis.call('HMGET', jobs, unpack(ids)) or {}) do
    if is_lost(name_of(texts[n]), payload) then lost[#lost + 1] = name_of(texts[n]) end
  end
  for _, name in ipairs(settles and lost or {}) do settle_member(g, name, 'lost', true, now) end
  return #texts == 1000 and texts[1000] or '', lost
end

local function free(prefix, is_free) return is_free and let_go(prefix .. g, now) or 0 end

if mode == 'forget' then
  for _, text in ipairs(redis.call('ZRANGEBYLEX', waiting, under('success:' .. g))) do -- it waits for nothing more
    redis.call('ZREM', waiting, text)
    local _, _, _, _, _, item = parts_of(parked_entry(text) or '')
    if item then leave(id_of(item), 'removed') end
  end
  return { forget_group(g), {}, {} }
elseif mode == 'free' then
  local is_over, gone = not state or state == DONE or state == GIVEN_UP, state and 0 or forget_group(g)
  return { gone + free('open:', is_over or state == RUNS) + free('after:', is_over) + free('success:', not state), {}, {} }
elseif not state then
  return 'unknown'
elseif mode == 'release' then
  if state ~= OPEN and record.rows then give_rows(rows, g, state, record, now) elseif state ~= OPEN then let_go('open:' .. g, now) end
  return { 1000 * ((record.rows or 0) - (record.given or 0)) + redis.call('ZLEXCOUNT', waiting, under('open:' .. g)), {}, {} }
elseif mode == 'lost' or mode == 'lose' then
  local place, lost = lost_ones(mode == 'lose')
  if mode == 'lose' then finish(g, now) end
  return { place, lost, ended_batches }
elseif mode == 'cancel' and record.name then
  if state == OPEN or state == RUNS then
    cancel_group(g, record, now)
    note()
  end
  if state == DONE or state == GIVEN_UP then return { '', {}, {} } end
  redis.call('ZADD', cancelled, 'NX', now, 'batch:' .. record.name) -- a mark leaves after a week
  if record.rows then return { give_rows(rows, g, CANCELLED, record, now) or '-', {}, ended_batches } end
  if more == '' then
    come(again)
    come(waiting, '[paused:', '(paused;')
  end
  local released, place = let_go('open:' .. g, now), cancel_some()
  finish(g, now)
  return { released == 1000 and place == '' and '-' or place, {}, ended_batches }
elseif mode == 'follow' and (state == DONE or state == GIVEN_UP) then
  record['then'], record.settled = more, nil
  write_group(g, RUNS, record)
  if redis.call('HSETNX', jobs, more, payload) == 1 then
    each_tag('tag', labels_of(payload), more)
    redis.call('ZADD', waiting, 0, parked_member('after:' .. g, now, more .. '@' .. now, 'r ' .. now .. ' 0 0 - ' .. item_of(more)))
  end
  finish(g, now)
  note()
end
return { 0, {}, ended_batches }
