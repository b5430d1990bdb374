-- put: additions under a name or a unique key, in a window, or with a priority; what gives way to them goes in the same step.
-- KEYS  1 S:jobs  2 S:next  3 S:producer:<token>  4 S:wake  5 S:cancelled  6 S:names  7 S:unique  8 S:windows  9 S:held
--       10 S:control  11 S:waiting  12 S:counts  13 S:ended  14 S:first:1  15 S:first:2  16 S:first:3  17 S:slots
--       18 S:crashed
-- ARGV  1 seq  2 now ms, or '' for this server's clock
--       3 msgpack list, a map for each job of what applies: id; payload; due ms, a text (absent: now); recurs;
--       second {id, payload}: where the first is known, or with fresh always: id only tells its content then; name;
--       key: unique key, or of a window; serial: runs of the key take its slot; replace: its holder gives way; debounce ms: so does it, and the time is put off;
--       throttle ms, window: its key; first: priority
-- ->    now, then four for each job: 1 new | 0 known | 2 stored as its second variant; its id; when it is due, '' where it
--       does not wait; the id that it replaced, or ''
local jobs, next_, producer, wake, cancelled, names, unique, windows, held = unpack(KEYS, 1, 9)
local control, waiting, counts, ended = unpack(KEYS, 10, 13)
-- part: producer
-- part: entry
-- part: pause
local now_ms = tonumber(now)
redis.call('SET', producer, '0 []', 'EX', 600) -- refused by a full server; nothing is half done then
local earliest = nil

local function item_of(id) return '{"id":"' .. id .. '"}' end

local function holder_of(hash, field) -- the job that stands there: its id, whether it recurs, the id of its content
  local value = field and redis.call('HGET', hash, field)
  if not value then return nil end
  local id, kind, content = string.match(value, '^(%S+) ?(%S*) ?(%S*)$')
  if not id or redis.call('HEXISTS', jobs, id) == 0 then return nil end
  return id, kind == 'r', content == '' and id or content
end

local function has_crashed(id, due) -- it was claimed by a listener that died, and may have begun
  return redis.pcall('HEXISTS', KEYS[18], id .. '@' .. due_text(due)) == 1
end

local function place(id, target) -- where a job waits that has not begun: its due time, and its entry if a pause has parked it
  local due = redis.call('ZSCORE', next_, item_of(id))
  if due then return not has_crashed(id, due) and due or nil end
  local key = 'paused:job:' .. target
  for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, '[' .. key .. '\0', '(' .. key .. '\1')) do
    local ms, of = string.match(string.sub(member, #key + 2), '^(%d+)%z(%x+)@[^%z]*%zr %S+ 0 0 %- ')
    if of == id and not has_crashed(id, ms) then return string.format('%.0f', tonumber(ms)), member end
  end
end

local function give_way(id, recurs, target) -- whether it will not run any more
  local due, entry = place(id, target)
  if not due and not recurs then return false end -- a one-shot that has begun keeps its payload
  if entry then redis.call('ZREM', waiting, entry) end
  for _, key in ipairs({ next_, KEYS[14], KEYS[15], KEYS[16] }) do redis.call('ZREM', key, item_of(id)) end
  redis.call('HDEL', jobs, id)
  redis.call('HDEL', counts, id)
  redis.call('SREM', ended, id)
  return true
end

-- whether the one-shot that holds a key has been claimed, but has not begun; one that is parked for the key's slot is taken out
local function unbegun(id, key)
  local slot = 'unique:' .. key
  for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, '[' .. slot .. '\0', '(' .. slot .. '\1')) do
    if string.match(string.sub(member, #slot + 2), '^%d+%z(%x+)@') == id then
      redis.call('ZREM', waiting, member)
      return true
    end
  end
  return redis.call('ZLEXCOUNT', KEYS[17], '[' .. slot .. '\0' .. id .. '@', '(' .. slot .. '\0' .. id .. 'A') == 0
end

local function is_paused(target)
  local till = paused_until(redis.call('HGET', control, 'paused:job:' .. target))
  return till and till > now_ms
end

local function wait(id, due, m)
  local target = m.name or id
  if is_paused(target) then
    local ms = string.format('%016.0f', math.max(0, due_of(due)))
    redis.call('ZADD', waiting, 0,
      'paused:job:' .. target .. '\0' .. ms .. '\0' .. id .. '@' .. due .. '\0r ' .. due .. ' 0 0 - ' .. item_of(id))
    return
  end
  redis.call('ZADD', next_, due, item_of(id))
  if m.first then redis.call('ZADD', KEYS[13 + m.first], due, item_of(id)) end
  if not earliest or tonumber(due) < earliest then earliest = tonumber(due) end
end

local function put(m)
  local old, old_recurs, old_content = holder_of(names, m.name)
  if old and old_content == m.id then return '0', old, place(old, m.name) or '', '' end
  local holder, holder_recurs = holder_of(unique, m.key)
  if holder and not (m.replace or m.debounce) and (holder ~= old or not (old_recurs or place(old, m.name))) then
    return '0', holder, place(holder, holder) or '', ''
  end
  local due, replaced = m.due or now, ''
  if m.debounce then due = string.format('%.0f', now_ms + m.debounce) end
  local function supersede() -- the holder has been claimed, and has not begun
    replaced = holder
    redis.call('HDEL', jobs, holder)
    redis.call('ZREM', cancelled, holder)
  end
  if old and give_way(old, old_recurs, m.name) then
    replaced = old
  elseif old and old == holder and m.serial and unbegun(holder, m.key) then
    supersede()
  end
  if holder and holder ~= old then
    local at = place(holder, holder)
    if give_way(holder, holder_recurs, holder) then
      replaced = holder
      if at and not m.debounce and not m.recurs then due = at end
    elseif m.serial and unbegun(holder, m.key) then
      supersede()
    end
  end
  local id, payload, state = m.id, m.payload, '1'
  if m.fresh then
    id, payload = m.second[1], m.second[2]
  elseif m.second and redis.call('HEXISTS', jobs, id) == 1 then
    id, payload, state = m.second[1], m.second[2], '2'
  end
  if redis.call('HEXISTS', jobs, id) == 1 then
    state, due = '0', place(id, m.name or id) or ''
  else
    redis.call('HSET', jobs, id, payload)
    redis.call('ZREM', cancelled, id)
    wait(id, due, m)
  end
  if m.name then
    local kind = m.recurs and ' r' or id ~= m.id and ' -' or ''
    redis.call('HSET', names, m.name, id .. kind .. (id ~= m.id and ' ' .. m.id or ''))
  end
  if m.key then redis.call('HSET', unique, m.key, id .. (m.recurs and ' r' or '')) end
  return state, id, due, replaced
end

local over = redis.call('ZRANGEBYSCORE', windows, '-inf', now, 'LIMIT', 0, 100)
if #over > 0 then
  redis.call('ZREM', windows, unpack(over))
  redis.call('HDEL', held, unpack(over))
end
local function is_open(m) -- its window: one that ends later than any can is none
  local till = tonumber(redis.call('ZSCORE', windows, m.window) or 0)
  return till > now_ms and till <= now_ms + 400 * 86400000
end

local answer = { now }
for _, m in ipairs(cmsgpack.unpack(ARGV[3])) do
  local first = m.throttle and is_open(m) and redis.call('HGET', held, m.window)
  local state, id, due, replaced
  if first then
    state, id, due, replaced = '0', first, place(first, m.name or first) or '', ''
  else
    state, id, due, replaced = put(m)
    if m.throttle then
      redis.call('ZADD', windows, string.format('%.0f', now_ms + m.throttle), m.window)
      redis.call('HSET', held, m.window, id)
    end
  end
  for _, said in ipairs({ state, id, due, replaced }) do answer[#answer + 1] = said end
end
for _, hash in ipairs({ names, unique }) do -- a few of those whose job is over
  local some = redis.call('HRANDFIELD', hash, 3, 'WITHVALUES')
  for i = 1, #some, 2 do
    if redis.call('HEXISTS', jobs, string.match(some[i + 1], '^%S*')) == 0 then redis.call('HDEL', hash, some[i]) end
  end
end
if earliest and (not head or earliest < tonumber(head) or earliest <= now_ms) and redis.call('LLEN', wake) == 0 then
  redis.call('LPUSH', wake, 1)
end
redis.call('SET', producer, seq .. ' ' .. cjson.encode(answer), 'EX', 600)
return answer
