-- reap: put the jobs that a pool has in progress back to the head of their queues, in their order, give its slots back, and
-- take it off the list. Only while its heartbeat is still the one that was seen. Cancelled jobs do not run again.
-- First, texts that a Go pool has ended and left in its list go to the dead set.
-- KEYS worker_pools worker_pool(pool) record(pool) taken(pool) known_jobs crashes cancelled(pool) dead
-- ARGV pool prefix beat limit is_dead count rows...
--      beat: its heartbeat as it was seen, '' = none, '*' = any; is_dead: '1' counts each job as one that a pool died with
--      rows: `count` names, then three for each text that has ended: name, text, its bytes in the dead set
-- ->   how many were put back, how many are left; or 'alive'; or 'ended', now, [name, text, ...]: texts that have ended,
--      which the next call brings with their new bytes
-- part: clock
-- part: ended
-- part: locks
-- part: keep
local function told(field) -- of the heartbeat
  local text = redis.pcall('HGET', worker_pool, field)
  return type(text) == 'string' and text or ''
end
local function takes(key, kind)
  local stands = redis.call('TYPE', key).ok
  return stands == kind or stands == 'none'
end
if beat ~= '*' and told('heartbeat_at') ~= beat then return { 'alive' } end
local all, seen, copies_at = {}, {}, rows_at + tonumber(count)
local function note(name)
  if not seen[name] then
    seen[name] = true
    all[#all + 1] = name
  end
end
for _, name in ipairs(takes(known_jobs, 'set') and redis.call('SMEMBERS', known_jobs) or {}) do note(name) end
for name in string.gmatch(told('job_names'), '[^,]+') do note(name) end
for i = rows_at, copies_at - 1 do note(ARGV[i]) end

local function buried(name, copies, now) -- what has ended and comes with new bytes; returns what comes without
  local ended, more = ended_in(name, pool), {}
  while #ended > 0 and #more == 0 do
    for _, text in ipairs(ended) do
      if not copies[name .. ' ' .. text] then
        more[#more + 1], more[#more + 2] = name, text
      elseif redis.call('LREM', in_progress_of(name, pool), -1, text) == 1 then
        keep(dead, MOST_DEAD, now, copies[name .. ' ' .. text])
      end
    end
    ended = ended_in(name, pool) -- of a long list the next ones
  end
  return more
end

local function bury()
  local copies, now = {}, math.floor(time_or_now('') / 1000)
  for i = copies_at, #ARGV, 3 do copies[ARGV[i] .. ' ' .. ARGV[i + 1]] = ARGV[i + 2] end
  if next(copies) then redis.call('ZCARD', dead) end -- a wrong type is refused before anything is done
  for _, name in ipairs(all) do
    local more = buried(name, copies, now)
    if #more > 0 then return { 'ended', now, more } end
  end
end
local ended = redis.call('EXISTS', record) == 0 and bury() -- a pool of ours leaves no such text
if ended then return ended end

local moved, left, is_any_cancelled = 0, 0, redis.call('EXISTS', cancelled) == 1
for _, name in ipairs(all) do
  local list, held = in_progress_of(name, pool), 0
  local length = takes(list, 'list') and takes(queue_of(name), 'list') and redis.call('LLEN', list) or 0
  while length > 0 and moved < tonumber(limit) do
    local text = redis.call('LPOP', list)
    local is_over = is_any_cancelled and redis.pcall('SREM', cancelled, text) == 1
    if not is_over then redis.call('RPUSH', queue_of(name), text) end
    if is_dead == '1' and not is_over and takes(crashes, 'hash') then
      redis.pcall('HINCRBY', crashes, mark_of(text), 1)
      redis.call('EXPIRE', crashes, 86400)
    end
    length, held, moved = length - 1, held + 1, moved + 1
  end
  left = left + length
  if held > 0 then
    free(name, pool, held)
    wake(name)
  end
end
if left == 0 then
  for _, name in ipairs(all) do
    local info = queue_of(name) .. ':lock_info'
    local rest = takes(info, 'hash') and tonumber(redis.call('HGET', info, pool) or '')
    if rest then
      if rest ~= 0 then free(name, pool, rest) end
      redis.call('HDEL', info, pool)
    end
  end
  for id in string.gmatch(told('worker_ids'), '[^,]+') do
    redis.call('DEL', prefix .. 'worker:' .. id)
  end
  redis.call('DEL', worker_pool, record, taken, cancelled)
  redis.call('SREM', worker_pools, pool)
end
return { moved, left }
