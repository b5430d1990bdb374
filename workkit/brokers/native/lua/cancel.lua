-- cancel: remove a job from where it waits. A job that no queue holds is only marked: a listener sees the mark and ends it.
-- KEYS jobs next cancelled ended waiting again names unique counts control wake first(1) first(2) first(3) changes tags held
-- KEYS deadlines result(which) groups members feeds ends
-- ARGV id recurs name key keep result_fields change undoable count texts...
--      recurs: 1 or 0; name, key: its name and its unique key, or ''
--      keep: for how long its result is kept, ms, or ''; result_fields: msgpack list: the entry for one that was removed
--      texts: first `count` texts that its item may have in S:next, then its members of S:waiting
-- ->   removed | marked | unknown; second: what undoes a removal, or ''
-- part: growth
-- part: clock
-- part: parked
-- part: control
-- part: ending
-- part: holder
-- part: queue
-- part: wake
-- part: kept
-- part: changed
-- part: undoing
-- part: deadlines
allow_growth(jobs)
if redis.call('HEXISTS', jobs, id) == 0 then return { 'unknown', '' } end
local now = server_ms()
local paused = 'paused:job:' .. (name ~= '' and name or id)
watch('HGET', jobs, id)
watch('HGET', counts, id)
watch('SISMEMBER', ended, id)
watch('HGET', names, name)
watch('HGET', unique, key)
watch('HGET', control, paused)
watch('ZSCORE', cancelled, id)
watch('ZSCORE', deadlines, id)

local function forget() -- remove its payload, and what depends on it
  end_job(id, 'cancelled')
  forget_deadline(id)
  release(names, name, id)
  release(unique, key, id)
  if redis.call('HDEL', control, paused) == 1 then has_changed() end
end

local function without_its_last_slot(entry) -- without the slot that it waits for
  local head, flags, rest = string.match(entry, '^(%a %S+ %d+ %d+ )([^%s#]*)(.*)$')
  flags = string.gsub(string.gsub(flags, 'g%d+%*[^;]*$', ''), ';$', '')
  return head .. (flags == '' and '-' or flags) .. rest
end

local members_at, waited = texts_at + tonumber(count), 0
for i = texts_at, members_at - 1 do
  watch('ZSCORE', next_, ARGV[i])
  for level = 1, 3 do watch('ZSCORE', first[level], ARGV[i]) end
  waited = waited + take_out(ARGV[i])
end
for i = members_at, #ARGV do
  local member = ARGV[i]
  watch('ZSCORE', waiting, member)
  if redis.call('ZREM', waiting, member) == 1 then
    local entry = parked_entry(member)
    if entry and string.match(entry, '^r %S+ 0 0 %- ') then -- it has not begun: a pause has parked it
      waited = waited + 1
    else -- the listener that claims it frees its slots. It buries a member without an entry
      if entry and string.sub(member, 1, 7) ~= 'paused:' then entry = without_its_last_slot(entry) end
      watch('ZSCORE', again, entry or member)
      redis.call('ZADD', again, now, entry or member)
      wake_one()
    end
  end
end
local marked = 0 -- 0: a repeated request
if recurs == '1' or waited == 0 then marked = redis.call('ZADD', cancelled, now, id) end
if recurs == '1' or waited > 0 then
  forget()
  if keep ~= '' then adds(result, keep_result(result, keep, cmsgpack.unpack(result_fields))) end
end
if waited + marked > 0 then note() end
if waited > 0 then return { 'removed', undoing() } end
return { 'marked', '' }
