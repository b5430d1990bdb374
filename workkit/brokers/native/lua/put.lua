-- put: add jobs with a name, a unique key, a window or a priority. Remove the jobs that they replace in the same step.
-- KEYS jobs next producer(token) wake cancelled names unique windows held control waiting counts ended plans
-- KEYS first(1) first(2) first(3) slots crashed
-- ARGV number now batch additions
--      now: ms; '' = by this server's clock
--      batch: rows before these, and a digest of all with these; '' = of none
--      additions: msgpack list, a map for each job:
--        id, payload, due: ms, a text (absent: now); recurs
--        second {id, payload}: used if the first id is known; with fresh: always used, and id only identifies the content
--        name, seen: what is added only if this id stands under the name, '' = none; first: its priority
--        key: its unique key, or the key of its window; serial: a run under the key takes a slot of it
--        replace: it replaces the holder of the key; debounce ms: so too, and it is due this long after now
--        most ms, with debounce: it is due this long after the first addition of its window at the latest
--        throttle ms, window: only the first addition in this window is added
--        plan {source, generation, ends}: it is added only while this plan holds; ends: not again once it was added
-- ->   now, then four for each job: 1 new | 0 known | 2 the first id is known, the second is new | 3 another was seen | 4 its plan
--      was replaced | 5 it is due already; its id;
--      its due time, '' if it does not wait; the id of the job that it replaced, or ''; or 'old'
-- part: earliest
-- part: pause
-- part: parked
-- part: predecessor
-- part: planned
-- part: windows
local now_ms, earliest = tonumber(now), nil
reserve()

local function is_paused(target)
  local till = paused_until(redis.call('HGET', control, 'paused:job:' .. target))
  return till and till > now_ms
end

local function wait(id, due, m)
  local target = m.name or id
  if is_paused(target) then
    local entry = 'r ' .. due .. ' 0 0 - ' .. item_of(id)
    redis.call('ZADD', waiting, 0, parked_member('paused:job:' .. target, due, id .. '@' .. due, entry))
    return
  end
  redis.call('ZADD', next_, due, item_of(id))
  if m.first then redis.call('ZADD', first[m.first], due, item_of(id)) end
  if not earliest or tonumber(due) < earliest then earliest = tonumber(due) end
end

local function put(m)
  local old, old_recurs, old_content = holder_of(names, m.name)
  if m.seen and m.seen ~= (old or '') then return '3', old or '', '', '' end
  if old and old_content == m.id then return '0', old, place(old, m.name) or '', '' end
  local holder, holder_recurs = holder_of(unique, m.key)
  if holder and not (m.replace or m.debounce) and (holder ~= old or not (old_recurs or place(old, m.name))) then
    return '0', holder, place(holder, holder) or '', ''
  end
  local due, replaced, latest = m.due or now, '', latest_of(unique, m.key, now_ms)
  local function supersede() -- a listener has claimed the holder, which has not begun
    replaced = holder
    redis.call('HDEL', jobs, holder)
    redis.call('ZREM', cancelled, holder)
  end
  if old and give_way(old, old_recurs, m.name) then
    replaced = old
  elseif old and old == holder and m.serial and has_not_begun(holder, m.key) then
    supersede()
  end
  if holder and holder ~= old then
    local at = place(holder, holder)
    if give_way(holder, holder_recurs, holder) then
      replaced = holder
      if at and not m.debounce and not m.recurs then due = at end
    elseif m.serial and has_not_begun(holder, m.key) then
      supersede()
    end
  end
  if replaced ~= holder then latest = nil end -- what it put off has begun: another window begins
  if m.debounce then
    latest = latest or now_ms + m.most
    due = string.format('%.0f', math.min(now_ms + m.debounce, latest))
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
  if m.key then redis.call('HSET', unique, m.key, id .. (m.recurs and ' r' or latest and string.format(' - %.0f', latest) or '')) end
  return state, id, due, replaced
end

forget_windows(now)
local answer = { now }
for _, m in ipairs(cmsgpack.unpack(additions)) do
  local held_id = m.throttle and is_in_window(m.window, now_ms) and redis.call('HGET', held, m.window)
  local state, id, due, replaced
  if held_id then
    state, id, due, replaced = '0', held_id, place(held_id, m.name or held_id) or '', ''
  else
    state, id, due, replaced = refused(m, now_ms)
    if not state then state, id, due, replaced = put(m) end
    note_made(m)
    if m.throttle then
      redis.call('ZADD', windows, string.format('%.0f', now_ms + m.throttle), m.window)
      redis.call('HSET', held, m.window, id)
    end
  end
  for _, part in ipairs({ state, id, due, replaced }) do answer[#answer + 1] = part end
end
for _, hash in ipairs({ names, unique }) do forget_some(hash) end
wake_for(earliest)
remember(cjson.encode(answer))
return answer
