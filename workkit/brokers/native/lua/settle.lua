-- settle: apply endings, each only if the listener holds its record. A job leaves one place and enters the next in one step.
-- KEYS jobs running(listener) next again slots ended errors dead graves skip(listener) cancelled stats wake waiting unique
-- KEYS names counts first(1) first(2) first(3) crashed lately days runs logs tags held deadlines groups members feeds ends
-- KEYS result(kept)...
-- ARGV number now endings count plain...
--      now: ms; '' = by this server's clock
--      endings: msgpack list of those that are not plain, each a map: receipt, and those of the following that apply:
--        drop: the id of a job that is over; close {id, occurrence} of a recurring job
--        unique, name: its unique key and its name, removed with the payload; so are tags, and once_key is marked
--        batch, after: it settles in its batch, and forgets its group
--        unread 1: this listener cannot read whether it has them
--        next {item, due, crashes}: the item goes back into S:next; first: its priority
--        again {entry, delay ms}; dead {dead id, grave}; error {occurrence, bytes; '' = forget it}
--        follower {id, payload}: of the job that follows a dead one, due now
--        free {occurrence, limit key of each slot ...}; skip: the id of a job that this listener cannot run
--        count: under which name it is counted; how it ended, where its key says another word; by: its name in S:deadlines
--        ran: the record of the run: see the part of this name; log {name of the run, what it has logged}
--        keep {place of its key among the results, ms, fields}: its result; called: the place of the key of its name, and its id
--        or a map of plain members of one batch: plain, their receipts; batch; raw, 20 bytes of each id
--      plain: the receipts of `count` one-shots that are done, each of an item as we write it: its id is in it
-- ->   'gone' | 'old' | 'step', or 'ok', now, the receipts of records that the listener does not hold, the batches that have
--      ended, or are cancelled: name, state (d = settled, x = cancelled and settled, c = cancelled), ...
-- part: request
-- part: clock
-- part: stats
now = time_or_now(now)
if repeated then return { 'ok', now, {}, {} } end
redis.call('HSET', running, '@', number)

local refused = {}
count = tonumber(count)
local has_marks = redis.call('EXISTS', cancelled) == 1
local ids = {} -- of plain jobs
local function end_plain(list, from, most) -- whether they have ended
  local gone = redis.call('HDEL', running, unpack(list, from, from + most - 1))
  if gone == most then
    local sub = string.sub
    for k = 1, most do ids[k] = sub(list[from + k - 1], -42, -3) end
    redis.call('HDEL', jobs, unpack(ids))
    if has_marks then redis.call('ZREM', cancelled, unpack(ids)) end
  else
    refused[#refused + 1] = 'mismatch' -- cannot happen. Keep the payloads: a checkup finds an orphan, but nobody finds a loss
  end
  tally('done', most, now)
  return gone == most
end
local is_fed = count > 0 and end_plain(ARGV, plain_at, count) and redis.call('EXISTS', feeds) == 1

local others = cmsgpack.unpack(endings)
if #others == 0 and not is_fed then return { 'ok', now, refused, {} } end -- most calls end here

return (function() -- Lua makes the functions below faster if the keys are locals of another function
-- part: promote
-- part: handback
-- part: over
-- part: burial
-- part: wake
-- part: ran
-- part: logs
-- part: kept
-- part: deadlines
local function mark(id) -- a job that this listener cannot run
  if redis.call('SADD', skip, id) == 0 or redis.call('SCARD', skip) <= 10000 then return end
  for _, marked in ipairs(redis.call('SRANDMEMBER', skip, 10)) do -- jobs that are over need no mark
    if redis.call('HEXISTS', jobs, marked) == 0 then redis.call('SREM', skip, marked) end
  end
end

if is_fed then open_groups() end
for k = 1, is_fed and count or 0 do settled(ids[k], 'done') end
local due_now, counted = false, {}
for _, e in ipairs(others) do
  if e.plain then
    ids = {}
    open_groups()
    if end_plain(e.plain, 1, #e.plain) then settle_plain(e.batch, ids, e.raw) end
  elseif redis.call('HDEL', running, e.receipt) == 0 then
    refused[#refused + 1] = e.receipt
  else
    if e.skip then mark(e.skip) end
    if e.by and e.again then expect(e.by, now + e.again[2]) elseif e.by and not e.next then forget_deadline(e.by) end
    if e.next then
      give_back(e.next[1], e.next[2], e.next[3])
      if e.first then redis.call('ZADD', first[e.first], 'NX', score_text(e.next[2]), e.next[1]) end
      due_now = true
    end
    if e.again then
      redis.call('ZADD', again, string.format('%.0f', tonumber(now) + e.again[2]), e.again[1])
      if e.again[2] == 0 then due_now = true end
    end
    if e.dead then
      due_now = bury(now, e.dead[1], e.dead[2], e.follower) or due_now
      each_tag('tag', e, e.dead[1])
    end
    if e.error then
      if e.error[2] == '' then redis.call('HDEL', errors, e.error[1])
      else redis.call('HSET', errors, e.error[1], e.error[2]) end
    end
    if e.drop then drop(e, has_marks) end
    if e.close then close(e, has_marks) end
    for k = 2, e.free and #e.free or 1 do due_now = free_slot(e.free[k], e.free[1]) or due_now end
    if e.count then counted[e.count] = (counted[e.count] or 0) + 1 end
    if e.ran then record(e.ran) end
    if e.log then keep_log(e.log[1], e.log[2]) end
    if e.keep then
      local kept = KEYS[result_at + e.keep[1]]
      keep_result(kept, e.keep[2], e.keep[3])
    end
    if e.called then
      local called = KEYS[result_at + e.called[1]]
      redis.call('SET', called, e.called[2], 'PX', e.keep[2])
    end
  end
end
for what, n in pairs(counted) do tally(what, n, now) end
if due_now then wake_one() end
return { 'ok', now, refused, ended_batches }
end)()
