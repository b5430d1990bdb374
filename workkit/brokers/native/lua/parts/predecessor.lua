-- predecessor: find the job that holds a name or a unique key, and remove it if an addition replaces it.
-- KEYS jobs next waiting slots crashed
-- part: id
-- part: entry
-- part: range
-- part: ending
-- part: queue
local function holder_of(hash, field) -- its id, whether it recurs, the id of its content
  local value = field and redis.call('HGET', hash, field)
  if not value then return nil end
  local id, kind, content = string.match(value, '^(%S+) ?(%S*) ?(%S*)$')
  if not id or redis.call('HEXISTS', jobs, id) == 0 then return nil end
  return id, kind == 'r', content == '' and id or content
end

local function forget_some(hash) -- a few fields whose jobs are over
  local some = redis.call('HRANDFIELD', hash, 3, 'WITHVALUES')
  for i = 1, #some, 2 do
    if redis.call('HEXISTS', jobs, string.match(some[i + 1], '^%S*')) == 0 then redis.call('HDEL', hash, some[i]) end
  end
end

local function latest_of(hash, field, now_ms) -- ms: when the job that holds it is due at the latest; nil: it was not put off
  local latest = field and tonumber(string.match(redis.call('HGET', hash, field) or '', '^%S+ %- (%d+)$'))
  return latest and latest <= now_ms + 400 * 86400000 and latest or nil
end

local function has_crashed(id, due) -- a listener had claimed it, and died: it may have begun
  return redis.pcall('HEXISTS', crashed, occurrence_of(id, due, '-')) == 1
end

local function place(id, target) -- the due time of a job that has not begun; second: its member, if a pause has parked it
  local due = redis.call('ZSCORE', next_, item_of(id))
  if due then return not has_crashed(id, due) and due or nil end
  local key = 'paused:job:' .. target
  for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, under(key))) do
    local ms, of = string.match(string.sub(member, #key + 2), '^(%d+)%z(%x+)@[^%z]*%zr %S+ 0 0 %- ')
    if of == id and not has_crashed(id, ms) then return string.format('%.0f', tonumber(ms)), member end
  end
end

local function give_way(id, recurs, target) -- whether the job was removed: then it never runs
  local due, entry = place(id, target)
  if not due and not recurs then return false end -- a one-shot that has begun keeps its payload
  if entry then redis.call('ZREM', waiting, entry) end
  take_out(item_of(id))
  end_job(id)
  return true
end

local function has_not_begun(id, key) -- of a claimed one-shot. Removes one that is parked for the slot of the key
  local slot = 'unique:' .. key
  for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, under(slot))) do
    if string.match(string.sub(member, #slot + 2), '^%d+%z(%x+)@') == id then
      redis.call('ZREM', waiting, member)
      return true
    end
  end
  return redis.call('ZLEXCOUNT', slots, '[' .. slot .. '\0' .. id .. '@', '(' .. slot .. '\0' .. id .. 'A') == 0
end
