-- put: add jobs with a name, a unique key, a window, a priority or tags. Remove the jobs that they replace in the same step.
-- KEYS jobs next producer(token) wake cancelled names unique windows held control waiting again counts ended plans
-- KEYS first(1) first(2) first(3) slots crashed lately days changes tags deadlines groups members feeds ends
-- ARGV number now batch group change additions
--      now: ms; '' = by this server's clock
--      batch: rows before these, and a digest of all with these; '' = of none
--      group: the step of a batch of spec/groups.md, see the part members; '' = of none
--      additions: msgpack list, a map for each job:
--        id, payload, due: ms, a text (absent: now); recurs
--        variant: used if the id is known: a nonce, or a whole payload; with fresh: always used, and id only identifies the content
--        name, seen: added only if the name has this id, '' = no id; first: its priority
--        key: its unique key, or the key of its window; serial: a run under the key takes a slot of it
--        keeps: it leaves the holder of the name; replace: it replaces the holder of the key; debounce: so too, and due this many ms after now; most: after the first
--        throttle ms, window: only the first addition in this window is added
--        tags; once_key, once_for ms: only the first addition under this key is added, however its job ends
--        plan {source, generation, ends}: it is added only while this plan holds; ends: not again once it was added
--        within ms, or by: its deadline, counted from its due time or as a time
--        batch: the name of its batch; before {kind, what, is_known} of each job that it runs after; on_death
--        over {id, whether it recurs}: it takes the place of this job, or is not added; tells: answer the payload of its predecessor
-- ->   now, then five for each job: 1 new | 0 known | 2 the first id is known, the second is new | 3 another was seen | 4 its plan
--      was replaced | 5 it is due already | 6 the job under its lasting key has ended, or it is
--      cancelled, because one that it runs after is not done; its id; its due time, '' if it does not wait (6: when it ended); the id
--      of the job that it replaced, or '' (6: how it ended); the payload of that of its name; or 'old';
--      or 'closed', the state of a batch that takes no members, '' if there is none, and its name; or 'unknown', what nobody knows, 'soon' or ''
return (function() -- Lua makes the functions below faster if the keys are locals of another function
-- part: earliest
-- part: pause
-- part: predecessor
-- part: planned
-- part: once
-- part: superseded
-- part: moved
-- part: changed
-- part: variant
-- part: deadlines
-- part: members
local now_ms, earliest = tonumber(now), nil

local function is_paused(target)
  return (paused_until(redis.call('HGET', control, 'paused:job:' .. target)) or 0) > now_ms
end

local function wait(id, due, m)
  local target = m.name or id
  local key = is_grouping and parks_under(m, id, now)
  if key or is_paused(target) then return park(key or 'paused:job:' .. target, id, due, not key) end
  redis.call('ZADD', next_, due, item_of(id))
  if m.first then redis.call('ZADD', first[m.first], due, item_of(id)) end
  if not earliest or tonumber(due) < earliest then earliest = tonumber(due) end
end

local function put(m)
  local old, old_recurs, old_content = holder_of(names, m.name)
  if m.seen and m.seen ~= (old or '') then return '3', old or '', '', '' end
  if m.over then
    if not can_move(m.over, m.name) then return '3', '', '', '' end
    if not m.name then old, old_recurs, old_content = m.over[1], m.over[2], m.over[1] end
  end
  if old and (m.keeps or old_content == m.id) then return '0', old, place(old, m.name or old) or '', '' end
  local holder, holder_recurs = holder_of(unique, m.key)
  if m.over and holder ~= old then holder, m.key = nil, nil end -- it has given its key up
  if holder and not (m.replace or m.debounce) and (holder ~= old or not (old_recurs or place(old, m.name or old))) then
    return '0', holder, place(holder, holder) or '', ''
  end
  local due, replaced, former = m.due or now, '', m.tells and old and redis.call('HGET', jobs, old) or ''
  if old or holder then reserve() end -- what follows may remove them
  local latest, kept = holder and latest_of(unique, m.key, now_ms), m.over and take_kept(old, m.name)
  moving = (m.over or old_recurs and m.recurs) and old or nil
  local due_was = moving and has_groups() and place(old, m.name or old)
  replaced, due = replace(m, old, old_recurs, holder, holder_recurs, due)
  if replaced ~= holder then latest = nil end -- what it put off has begun: another window begins
  if m.debounce then due, latest = put_off(m, latest, now_ms) end
  local id, payload, is_known = m.id, m.payload, m.variant and not m.fresh and redis.call('HEXISTS', jobs, m.id) == 1
  if m.fresh or is_known then id, payload = variant_of(payload, m.variant) end
  local state = is_known and '2' or '1'
  if redis.call('HSETNX', jobs, id, payload) == 0 then
    state, due = '0', place(id, m.name or id) or ''
  else
    begin_anew(id)
    if m.over then put_kept(kept, id) end
    each_tag('tag', m, id)
    wait(id, due, m)
    if m.within or m.by then put_deadline(m.recurs and occurrence_of(id, due, '-') or id, due, m) end
  end
  if moving then carry(m, old, due_was, state ~= '0' and id, due) elseif m.batch and state ~= '0' then enter(m, id) end
  if m.name then
    local kind = m.recurs and ' r' or id ~= m.id and ' -' or ''
    redis.call('HSET', names, m.name, id .. kind .. (id ~= m.id and ' ' .. m.id or ''))
  end
  if m.key then redis.call('HSET', unique, m.key, id .. (m.recurs and ' r' or latest and string.format(' - %.0f', latest) or '')) end
  return state, id, due, replaced, replaced == old and former or ''
end

local refusal = is_grouping and open_step(group, additions, now)
if refusal then return refusal end
forget_windows(now, reserve)
if is_grouping then begin_step(now) end
local answer, used = { now }, {} -- used: the hashes of names and unique keys that these additions ask for
for _, m in ipairs(additions) do
  local held_id = m.throttle and is_in_window(m.window, now_ms) and redis.call('HGET', held, m.window)
  local state, id, due, replaced, former = known_under_its_key(m, now_ms)
  if not state and held_id then
    state, id, due, replaced = '0', held_id, place(held_id, m.name or held_id) or '', ''
  elseif not state then
    state, id, due, replaced = refused(m, now_ms)
    if m.before and not state then state, id, due, replaced = cancelled_by(m, now) end
    if not state then state, id, due, replaced, former = put(m) end
    note_made(m)
    used[names], used[unique] = used[names] or m.name, used[unique] or m.key
    open_windows(m, state, id, now_ms)
  end
  for _, part in ipairs({ state, id, due, replaced, former or '' }) do answer[#answer + 1] = part end
  if m.over and (state == '1' or state == '2') then note() end
end
if is_grouping then end_step(now) end
for hash in pairs(used) do forget_some(hash) end
wake_for(earliest)
remember(cjson.encode(answer))
return answer
end)()
