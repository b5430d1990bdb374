-- repair: repair jobs and marks to which nothing refers: no item, no entry, no record. It checks each again first.
-- KEYS jobs next again listeners slots ended errors wake waiting counts tags held
-- KEYS groups members feeds ends cancelled first(1) first(2) first(3)
-- KEYS running(listeners)...
-- ARGV listed wide strays
--      listed: msgpack list of the listeners that are in KEYS
--      wide: 1 = S:next holds items under other texts than ours, so each of them must be read; else 0
--      strays: msgpack list of maps, one for each thing that may be repaired:
--        id: a job that nothing refers to
--        mark 'slot', id, key, occurrence: a slot of an occurrence that nothing refers to
--        mark 'error', id, occurrence: an error of an occurrence that nothing refers to
--        mark 'ended', id: a job without an open run, or one that waits for its next run
--        mark 'free', key: a limit key that has room, though entries are parked for it
--        mark 'parked', member: a member of S:waiting that holds no entry; it goes to S:again, and a listener buries it
--        and the repair; without one the script only looks:
--        next {item, due ms or '' = now}: put the item of a job back into S:next
--        sweep 1: remove the mark, and the payload that was kept for it; parked entries take the freed slots
-- ->   'changed' (another listener was listed meanwhile), or for each 1 nothing refers to it (it is repaired) | 0
-- part: clock
-- part: wake
-- part: promote
-- part: references
-- part: ending
local list = cmsgpack.unpack(strays)
local known = {}
for _, name in ipairs(cmsgpack.unpack(listed)) do known[name] = true end
for _, name in ipairs(redis.call('ZRANGE', listeners, 0, -1)) do
  if not known[name] then return 'changed' end
end

for _, s in ipairs(list) do
  if s.id then wanted[s.id] = true end
end
for i = running_at, #KEYS do hold_records(KEYS[i]) end
each_member(again, hold_entry)
each_member(waiting, hold_parked)
if wide == '1' then each_member(next_, hold_item) end

local function is_row(id) -- of a batch: it waits in S:rows
  if not has_groups() then return false end
  local batch = batch_in(redis.call('HGET', jobs, id) or '')
  local _, record = read_group(batch and group_of(batch) or '')
  return record and record.rows
end

local function is_loose(s)
  if s.mark == 'free' then return next_parked(s.key) end
  if s.mark == 'parked' then return redis.call('ZSCORE', waiting, s.member) end
  if s.mark == 'slot' then
    return not runs_held[s.occurrence] and redis.call('ZSCORE', slots, s.key .. '\0' .. s.occurrence)
  elseif s.mark == 'error' then
    return not runs_held[s.occurrence] and redis.call('HEXISTS', errors, s.occurrence) == 1
  end
  local last, waits = redis.call('SISMEMBER', ended, s.id) == 1, redis.call('ZSCORE', next_, item_of(s.id))
  if s.mark == 'ended' then return last and (waits or not (jobs_held[s.id] or is_open(s.id))) end
  if jobs_held[s.id] or waits then return false end
  return redis.call('HEXISTS', jobs, s.id) == 1 and not (last and is_open(s.id)) and not is_row(s.id)
end

local woken = false
local function sweep(s)
  if s.mark == 'error' then
    redis.call('HDEL', errors, s.occurrence)
  elseif s.mark == 'ended' then -- a job that waits for its next run is not over
    if redis.call('ZSCORE', next_, item_of(s.id)) then redis.call('SREM', ended, s.id) else end_job(s.id, 'done') end
  elseif s.mark == 'free' then
    woken = promote(s.key) or woken
  elseif s.mark == 'parked' then
    redis.call('ZREM', waiting, s.member)
    redis.call('ZADD', again, 0, s.member)
    woken = true
  elseif string.sub(s.key, 1, 4) ~= 'run:' then
    woken = free_slot(s.key, s.occurrence) or woken
  else
    drop_slot(s.key, s.occurrence)
    if redis.call('SISMEMBER', ended, s.id) == 1 and not is_open(s.id) then end_job(s.id, 'done') end
  end
end

local answer = {}
for i, s in ipairs(list) do
  answer[i] = is_loose(s) and 1 or 0
  if answer[i] == 1 then
    if s.next then
      local due = time_or_now(s.next[2])
      redis.call('ZADD', next_, due, s.next[1])
      redis.call('SREM', ended, s.id)
      woken = true
    end
    if s.sweep then sweep(s) end
  end
end
if woken then wake_one() end
return answer
