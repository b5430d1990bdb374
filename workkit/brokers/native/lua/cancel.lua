-- cancel: take a job out; what is out of the queue already is only marked, and ends by its mark.
-- KEYS jobs next cancelled ended waiting again names unique counts control wake first(1) first(2) first(3)
-- ARGV id recurs name key count texts...
--      recurs: 1, else 0; name, key: its name and unique key, or ''
--      texts: so many (count) under which its item may stand, then its members of S:waiting
-- ->   removed | marked | unknown
-- part: growth
-- part: clock
-- part: parked
-- part: control
-- part: ending
-- part: holder
-- part: queue
-- part: wake
allow_growth(jobs)
if redis.call('HEXISTS', jobs, id) == 0 then return 'unknown' end
local now = server_ms()

local function forget() -- with its payload goes what was kept for it
  end_job(id)
  release(names, name, id)
  release(unique, key, id)
  if redis.call('HDEL', control, 'paused:job:' .. (name ~= '' and name or id)) == 1 then has_changed() end
end

local function without_its_last_slot(entry) -- the one that it waits for
  local head, flags, rest = string.match(entry, '^(%a %S+ %d+ %d+ )([^%s#]*)(.*)$')
  flags = string.gsub(string.gsub(flags, 'g%d+%*[^;]*$', ''), ';$', '')
  return head .. (flags == '' and '-' or flags) .. rest
end

local members_at, waited = texts_at + tonumber(count), 0
for i = texts_at, members_at - 1 do waited = waited + take_out(ARGV[i]) end
for i = members_at, #ARGV do
  local member = ARGV[i]
  if redis.call('ZREM', waiting, member) == 1 then
    local entry = parked_entry(member)
    if entry and string.match(entry, '^r %S+ 0 0 %- ') then -- a pause has parked it before it began
      waited = waited + 1
    else -- it may have slots: a listener gives them back, as it ends what is marked; what is no entry it buries
      if entry and string.sub(member, 1, 7) ~= 'paused:' then entry = without_its_last_slot(entry) end
      redis.call('ZADD', again, now, entry or member)
      wake_one()
    end
  end
end
if recurs == '1' or waited == 0 then redis.call('ZADD', cancelled, now, id) end
if recurs == '1' or waited > 0 then forget() end
return waited > 0 and 'removed' or 'marked'
