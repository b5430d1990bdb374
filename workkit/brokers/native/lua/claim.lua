-- claim: take due work and write this listener's records in the same step. A claim is also a beat.
-- KEYS next jobs running(listener) listeners watch wake again skip(listener) cancelled control first(3) first(2) first(1)
-- KEYS crashed turns order rates
-- ARGV me number limit now version cursors
--      me: the listener; limit: 1 to 1000
--      now: ms, a time that a drain pretends; '' = by this server's clock
--      version: of S:control, as the listener knows it
--      cursors: as the last answered claim returned them, or ''
-- ->   'gone' | 'old' | 'step' (spec/layouts/native.md, rule 5), or
--      'ok', now, ms until the listener should ask again (a text with fractions; -1: another listener watches, or nothing
--      waits; 0: more is due), the numbers of the jobs that are cancelled (from 1), S:control (fields and values; empty: as
--      the listener knows it), cursors (bytes; '' = the listener skips no job), then of all jobs: the members or entries;
--      the payloads or nil; the due texts (of members) or '' (of entries), after each how many jobs in a row have it; and
--      the number of each job whose id is not the 40 bytes of its member from the eighth on, followed by that id
-- part: request
-- part: clock
-- part: pause
-- part: taking
-- part: news
-- part: wake
local is_pretended = now ~= '' -- no other listener uses that time, so nobody watches for it
local past -- the fraction of a ms on top of now
now, past = time_or_now(now)
limit = tonumber(limit)

-- Most schedules have only the published keys: one question here tells.
local is_plain = redis.call('EXISTS', again, skip, cancelled, control, first[3], first[2], first[1], crashed) == 0
local has_entries = not is_plain and redis.call('EXISTS', again) == 1
local has_skips = not is_plain and redis.call('EXISTS', skip) == 1
local has_control = not is_plain and redis.call('EXISTS', control) == 1
local rests_until = has_control and paused_until(redis.call('HGET', control, 'paused:schedule')) -- ms
if rests_until and rests_until <= tonumber(now) then rests_until = nil end
if has_skips and not rests_until then open_cursors() end

if repeated then
  take_again(number)
elseif not rests_until then
  for level = is_plain and 0 or 3, 1, -1 do
    if #taken < limit and redis.call('EXISTS', first[level]) == 1 then take_listed(level, limit) end
  end
  take_in_order(limit, has_entries)
  if not is_plain then take_crashes() end
end

local reply = { 'ok', now, -1, {}, {}, (repeated or rests_until) and cursors or packed_cursors(), taken, {}, {}, {} }
if has_control then reply[5] = news_since(version) end
local records, alike, others = { '@', number }, reply[9], reply[10]
local prefix, last = number .. '.', 0 -- of `alike`
for i = 1, #taken do
  local due = dues[i]
  if due == alike[last - 1] then
    alike[last] = alike[last] + 1
  else
    alike[last + 1], alike[last + 2] = due, 1
    last = last + 2
  end
  if not repeated then
    records[2 * i + 1] = prefix .. taken[i]
    records[2 * i + 2] = due == '' and taken[i] or due
  end
end
for i, id in pairs(told) do others[#others + 1], others[#others + 2] = i, id end
redis.call('HSET', running, unpack(records))
redis.call('ZADD', listeners, 'XX', now, me)
if #taken > 0 then
  reply[8] = redis.call('HMGET', jobs, unpack(ids))
  if not is_plain and redis.call('EXISTS', cancelled) == 1 then
    local runs = {} -- a mark may name one occurrence, or a batch
    for i, id in ipairs(ids) do
      local kind, due, _, _, flags = parts_of(taken[i])
      runs[i] = kind == 'o' and occurrence_of(id, due, flags) or id
    end
    for i, payload in ipairs(reply[8]) do
      local batch = payload and batch_in(payload)
      if batch then runs[i] = 'batch:' .. batch end
    end
    local marks, marked = redis.call('ZMSCORE', cancelled, unpack(ids)), redis.call('ZMSCORE', cancelled, unpack(runs))
    for i = 1, #ids do
      if marks[i] or marked[i] then reply[4][#reply[4] + 1] = i end
    end
  end
end

if rests_until then
  if rests_until < math.huge then reply[3] = string.format('%.3f', rests_until - tonumber(now)) end
  return reply
end
if #taken < limit and not is_all then -- the listener skips all that was read; its next claim continues from there
  reply[3] = 0
  return reply
end
local held = redis.call('GET', watch)
local due, owner
if held then due, owner = string.match(held, '^(%d+) (.*)$') end
if #taken >= limit then -- no room is left: other listeners take the rest, and watch
  local more = waits_in(next_) or (has_entries and waits_in(again))
  if owner == me then redis.call('DEL', watch) end
  if more or owner == me then wake_one() end
  if more then reply[3] = 0 end
  return reply
end
local head = nil
for _, key in ipairs({ next_, again }) do
  local first_due = redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if first_due and (not head or tonumber(first_due) < head) then head = tonumber(first_due) end
end
if head and head < 9e15 then
  head = math.ceil(head)
  if is_pretended then
    reply[3] = string.format('%.3f', head - tonumber(now))
    return reply
  end
  local wait = math.min(head - tonumber(now), 3600000)
  if not (due and owner ~= me and tonumber(due) <= head and tonumber(due) >= tonumber(now)) then
    redis.call('SET', watch, string.format('%.0f', head) .. ' ' .. me, 'PX', wait + 100)
    reply[3] = string.format('%.3f', wait - past)
  end
end
return reply
