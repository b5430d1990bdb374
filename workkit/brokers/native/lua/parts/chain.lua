-- chain: when an occurrence of a recurring job begins, or is missed, put the next one into S:next. `m` is as in admit.
-- KEYS running next ended counts first missed deadlines
-- part: instant
-- part: counter
-- part: slots
-- part: ending
-- part: ran
-- part: deadlines
local function note(m, reason, times, now)
  local fields = m.missed
  redis.pcall('XADD', missed, 'MAXLEN', '~', 10000, entry_id(missed), 'id', fields[1], 'name', fields[2], 'fn', fields[3],
    'due', fields[4], 'reason', reason, 'times', times) -- a job runs even if the server refuses this
  if not m.ring then return end
  local late = math.max(0, math.min(4294967295, now - fields[4]))
  local packed = struct.pack('>I6I4I4BB', now, late, 0, reason == 'overlap' and OVERLAP or MISSED, 0)
  record({ m.ring[1], packed, times, 1, fields[1], fields[2], fields[3], m.ring[2], '' })
end

local function arm(m, counted) -- put the next occurrence into S:next, or mark the job as ended
  local item, due = m.chain[1], m.chain[2]
  if counted and m.count and add_to(counts, m.id, 1) >= m.count then due = '' end
  if due == '' then
    redis.call('SADD', ended, m.id)
    return
  end
  redis.call('ZADD', next_, 'NX', due, item) -- NX: the first listener that re-arms it wins
  if m.first then redis.call('ZADD', first[m.first], 'NX', due, item) end
  if m.by and m.by[3] then set_deadline(m.by[3], m.by[4]) end
end

local function open(m, now) -- an occurrence that begins
  if m.by then redis.pcall('ZADD', deadlines, 'NX', m.by[2], m.by[1]) end -- a foreign peer may have re-armed it
  arm(m, true)
  take_slot('run:' .. m.id, m.run)
  if m.times > 0 then note(m, 'late', m.times, now) end
end

local function miss(m, reason, now) -- an occurrence that does not run
  if m.chain then arm(m, false) end
  note(m, reason, 1, now)
  if m.by then forget_deadline(m.by[1]) end
  redis.call('HDEL', running, m.receipt)
  drop_slot('run:' .. m.id, m.run)
  if has_groups() then settled(m.run, 'missed') end
  if redis.call('SISMEMBER', ended, m.id) == 1 and not is_open(m.id) then end_job(m.id, 'missed') end
end
