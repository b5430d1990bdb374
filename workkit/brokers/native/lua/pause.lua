-- pause: pause a schedule, a function or a job. Park what waits of a job in the same step. A repetition changes nothing.
-- KEYS control next again waiting first(1) first(2) first(3) changes turns order deadlines jobs slots
-- ARGV target pause id change count texts...
--      pause: msgpack [reason, until ms]; id: of the job, '' for another target
--      texts: first `count` items of it in S:next, then two for each of its entries in S:again: the entry, and the member of
--      S:waiting that it becomes
-- ->   how many were parked
-- part: control
-- part: parked
-- part: order
-- part: queue
-- part: changed
-- part: pause
-- part: overdue
local field, entries_at = 'paused:' .. target, texts_at + tonumber(count)
local before = redis.call('HGET', control, field)
if before ~= pause then
  redis.call('HSET', control, field, pause) -- a full server refuses this, before anything is done
  has_changed()
  if before and #before <= 1000 then note('before', before) else note() end
end
local till = redis.call('EXISTS', deadlines) == 1 and paused_until(pause)
local held = till and till < UNTOLD and scored(0, string.format('(%.0f', till), 1000) or {} -- what it keeps from its deadline
for i = 1, #held, 2 do
  local payload, _, of, waits = standing(held[i])
  for _, one in ipairs(payload and waits and targets_of(of, payload) or {}) do
    if one == target then expect(held[i], till) end
  end
end
local parked = 0
for i = texts_at, entries_at - 1 do
  local item = ARGV[i]
  local score = redis.call('ZSCORE', next_, item)
  if score and tonumber(score) >= 0 and tonumber(score) < 9e15 then -- an item without a valid time stays until a repair
    local entry = 'r ' .. due_text(score) .. ' 0 0 - ' .. item
    redis.call('ZADD', waiting, 0, parked_member(field, score, occurrence_of(id, score, '-'), entry))
    take_out(item)
    parked = parked + 1
  end
end
for i = entries_at, #ARGV, 2 do
  if redis.call('ZREM', again, ARGV[i]) == 1 then
    redis.pcall('ZREM', turns, ARGV[i])
    leave_line(ARGV[i])
    redis.call('ZADD', waiting, 0, ARGV[i + 1])
    parked = parked + 1
  end
end
return parked
