-- overdue: find what is late. An entry of S:deadlines counts only while its occurrence waits or runs: a job may have ended or
-- moved without it, by a foreign peer or an older release.
-- KEYS deadlines jobs next slots waiting
-- part: deadlines
-- part: id
-- part: parked
local function is_late(now) -- 1 if something is late and nobody has told so
  if redis.call('EXISTS', deadlines) == 0 then return 0 end
  local past, untold = redis.pcall('ZCOUNT', deadlines, 0, now), redis.pcall('ZCOUNT', deadlines, -2 * UNTOLD, -UNTOLD)
  return type(past) == 'number' and past + untold > 0 and 1 or 0
end

local function scored(from, to, most) -- members and scores
  local found = redis.pcall('ZRANGEBYSCORE', deadlines, from, to, 'WITHSCORES', 'LIMIT', 0, most)
  return found.err and {} or found
end

local function targets_of(id, payload) -- what a pause may name to hold a job
  local ok, job = pcall(cjson.decode, payload)
  job = ok and type(job) == 'table' and job or {}
  local name = type(job.opts) == 'table' and type(job.opts.name) == 'string' and job.opts.name or id
  return { 'schedule', 'job:' .. name, 'fn:' .. tostring(job.job) }
end

local function is_parked(id, due, run, payload) -- under a pause
  for _, target in ipairs(targets_of(id, payload)) do
    local text = parked_member('paused:' .. target, due, run, '')
    if redis.call('ZLEXCOUNT', waiting, '[' .. text, '(' .. string.sub(text, 1, -2) .. '\1') > 0 then return true end
  end
end

local function standing(run) -- its payload while it waits or runs (false: it does neither; nil: unknown), its due time ('' =
  -- unknown), the id of its job, whether it waits in S:next
  local id, due = string.match(run, '^([^@]*)@(%d+)$')
  id = id or run
  local payload = redis.call('HGET', jobs, id)
  if not payload then return false end
  local at = redis.call('ZSCORE', next_, item_of(id))
  at = at and due_text(at)
  if at and (not due or at == due) then return payload, at, id, true end
  if not due then return payload, '', id, false end
  if redis.call('ZSCORE', slots, 'run:' .. id .. '\0' .. run) then return payload, due, id, false end
  if at then return false end -- its job waits for another time
  if is_parked(id, due, run, payload) then return payload, due, id, false end
end
