-- turn: end jobs, and take jobs, in one step, as the request of this number of one pool. A repeated request has no further
-- effect; it is answered with all that the pool has in progress, of which it knows what it knew before.
-- KEYS worker_pools record(pool) scheduled retry held held_retry dead unreadable crashes cancelled(pool) paused_all
-- ARGV pool number now prefix seed limit names ends offset
--      now: ms; '' = by this server's clock
--      names: [name, priority, limit (0 = none)] ...; ends: see parts/ending.lua; both packed. offset: how many due members to pass over
-- ->   'ok', now, ms until the next is due (0 = more is there, -1 = nothing), whether it is a repetition,
--      places of refused endings, [name, text, ...], [place of the sorted set, text, ...], [crashes of each text];
--      or 'gone'
-- part: clock
-- part: ending
-- part: taking
local PAGE = 100
local kept = redis.pcall('GET', record)
if type(kept) ~= 'string' or redis.call('SISMEMBER', worker_pools, pool) == 0 then return { 'gone' } end
local last, answered = string.match(kept, '^(%d+) (.*)$')
last, number, limit = tonumber(last or ''), tonumber(number), tonumber(limit)
if last ~= number and last ~= number - 1 then return { 'gone' } end
names, now = cmsgpack.unpack(names), time_or_now(now)

local function counted(found) -- how many pools died with each
  local counts = {}
  if #found > 0 and redis.call('EXISTS', crashes) == 1 then
    for i = 2, #found, 2 do
      counts[#counts + 1] = tonumber(redis.pcall('HGET', crashes, mark_of(found[i])) or '') or 0
    end
  end
  return counts
end

if last == number then
  local holds = {}
  for _, pair in ipairs(names) do
    for _, text in ipairs(redis.call('LRANGE', in_progress_of(pair[1], pool), 0, -1)) do
      holds[#holds + 1], holds[#holds + 2] = pair[1], text
    end
  end
  return { 'ok', now, '0', 1, cjson.decode(answered), holds, {}, counted(holds) }
end
redis.call('SET', record, kept, 'EX', 3600) -- a full server refuses this, before anything is done
local refused = ends == '' and {} or finish(cmsgpack.unpack(ends))
local found, due, wake_in = {}, {}, -1
if limit > 0 then
  local more
  found, more = take(names, limit, seed)
  for place_of, key in ipairs({ scheduled, retry, held, held_retry }) do
    local at = redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES')[2] -- none where it is no sorted set
    if at and tonumber(at) * 1000 <= tonumber(now) then
      for _, text in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now / 1000, 'LIMIT', offset, PAGE)) do
        due[#due + 1], due[#due + 2] = place_of, text
      end
      at = redis.call('ZRANGEBYSCORE', key, '(' .. now / 1000, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    end
    local wait = at and math.max(1, tonumber(at) * 1000 - now)
    if wait and (wake_in == -1 or wait < wake_in) then wake_in = wait end
  end
  if more and #found > 0 then wake_in = 0 end
end
redis.call('SET', record, number .. ' ' .. (#refused == 0 and '[]' or cjson.encode(refused)), 'EX', 3600)
return { 'ok', now, tostring(wake_in), 0, refused, found, due, counted(found) }
