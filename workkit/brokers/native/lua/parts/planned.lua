-- planned: refuse an addition of a plan that was replaced, or that would run again what ran; note what a plan has made.
-- KEYS names plans
-- part: plans
-- part: predecessor
local function refused(m, now_ms) -- nil, or the answer
  if not m.plan then return nil end
  local source, generation, ends = unpack(m.plan)
  if not holds(source, generation) then return '4', '', '', '' end
  local old, recurs, content = holder_of(names, m.name)
  if not old and ends and string.match(redis.call('HGET', plans, 'job:' .. m.name) or '', '^%S*') == m.id then
    return '0', m.id, '', '' -- it is over
  end
  if content ~= m.id then
    if tonumber(m.due) <= now_ms then return '5', old or '', '', '' end -- its predecessor may have run then
    local owed = recurs and m.recurs and place(old, m.name)
    if owed and tonumber(owed) <= now_ms then m.due = owed end -- a run that no listener has claimed yet
  end
  return nil
end

local function note_made(m)
  if not m.plan then return end
  local _, _, content = holder_of(names, m.name)
  if content == m.id then redis.call('HSET', plans, 'job:' .. m.name, m.id .. ' ' .. m.plan[1]) end
end
