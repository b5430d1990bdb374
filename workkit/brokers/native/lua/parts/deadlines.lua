-- deadlines: the deadline of each occurrence that has one, ms. A one-shot is there by its id, an occurrence of a recurring job
-- by its name. Where a score is below 0, the deadline is its amount, and the job is late: a listener has told so. Where it is
-- below -1e15, the deadline is its amount without 1e15: it cannot be met, and nobody has told so yet.
-- Nothing here may stop a job: a key of another type is left alone.
-- KEYS deadlines
local UNTOLD = 1e15
local function set_deadline(run, ms) redis.pcall('ZADD', deadlines, string.format('%.0f', ms), run) end
local function forget_deadline(run) redis.pcall('ZREM', deadlines, run) end

local function expect(run, ms) -- it does not start before this time: is that too late?
  local score = redis.pcall('ZSCORE', deadlines, run)
  local deadline = type(score) == 'string' and tonumber(score) or 0
  if deadline > 0 and deadline < tonumber(ms) and tonumber(ms) < UNTOLD then set_deadline(run, -UNTOLD - deadline) end
end

local function put_deadline(run, due, m) -- of a job that is due then: m.within ms after it, or m.by
  set_deadline(run, m.within and tonumber(due) + m.within or m.by)
  expect(run, due)
end
