-- predecessor: find the job that holds a name or a unique key, and remove it if an addition replaces it.
-- KEYS jobs next waiting crashed slots
-- part: id
-- part: entry
-- part: range
-- part: ending
-- part: groups
-- part: queue
local function holder_of(hash, field) -- its id, whether it recurs, the id of its content
  local value = field and redis.call('HGET', hash, field)
  if not value then return nil end
  local id, kind, content = string.match(value, '^(%S+) ?(%S*) ?(%S*)$')
  if not id or redis.call('HEXISTS', jobs, id) == 0 then return nil end
  return id, kind == 'r', content == '' and id or content
end

local function latest_of(hash, field, now_ms) -- ms: when the job that holds it is due at the latest; nil: it was not put off
  local latest = field and tonumber(string.match(redis.call('HGET', hash, field) or '', '^%S+ %- (%d+)$'))
  return latest and latest <= now_ms + 400 * 86400000 and latest or nil
end

local function put_off(m, latest, now_ms) -- when a debounced job is due, and when at the latest
  latest = latest or now_ms + m.most
  return string.format('%.0f', math.min(now_ms + m.debounce, latest)), latest
end

local place
do
  local function has_crashed(id, due) -- a listener had claimed it, and died: it may have begun
    return redis.pcall('HEXISTS', crashed, occurrence_of(id, due, '-')) == 1
  end

  local function parked_for_group(id) -- the member of a job that waits for a group, or for its batch to be closed
    local batch = batch_in(redis.call('HGET', jobs, id) or '')
    for _, key in ipairs({ 'after:' .. string.sub(id, 1, 16), batch and 'open:' .. group_of(batch) or nil }) do
      local from = key .. '\0' .. string.rep('0', 16) .. '\0' .. id
      local member = redis.call('ZRANGEBYLEX', waiting, '[' .. from .. '@', '(' .. from .. 'A', 'LIMIT', 0, 1)[1]
      local _, due = parts_of(member and parked_entry(member) or '')
      if due then return due_text(due), member end
    end
  end

  function place(id, target) -- the due time of a job that has not begun; second: its member, if it is parked
    local due = redis.call('ZSCORE', next_, item_of(id))
    if due then return not has_crashed(id, due) and due or nil end
    local key = 'paused:job:' .. target
    for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, under(key))) do
      local ms, of = string.match(string.sub(member, #key + 2), '^(%d+)%z(%x+)@[^%z]*%zr %S+ 0 0 %- ')
      if of == id and not has_crashed(id, ms) then return string.format('%.0f', tonumber(ms)), member end
    end
    if has_groups() then return parked_for_group(id) end
  end
end

local function give_way(id, recurs, target, how) -- whether the job was removed: then it never runs
  local due, entry = place(id, target)
  if not due and not recurs then return false end -- a one-shot that has begun keeps its payload
  if entry then redis.call('ZREM', waiting, entry) end
  take_out(item_of(id))
  for _, slot in ipairs(recurs and has_groups() and redis.call('ZRANGEBYLEX', slots, under('run:' .. id)) or {}) do
    going_on[string.sub(slot, #id + 6)] = true
  end
  end_job(id, how)
  return true
end
