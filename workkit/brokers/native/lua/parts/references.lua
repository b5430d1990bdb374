-- references: find the jobs and occurrences to which items, entries and records refer.
-- part: id
-- part: entry
-- part: parked
local wanted, jobs_held, runs_held = {}, {}, {} -- ids to look for; those ids, and their occurrences, that were found

local function hold(due, flags, item)
  local id = id_of(item)
  if not wanted[id] then return end
  jobs_held[id] = true
  runs_held[occurrence_of(id, due, flags)] = true
end

local function hold_entry(text, member) -- a record may hold only the due time of a member
  local kind, due, _, _, flags, item = parts_of(text)
  if kind then hold(due, flags, item) elseif member then hold(text, '-', member) end
end

local function hold_records(hash)
  local all = redis.call('HGETALL', hash)
  for i = 1, #all, 2 do
    local member = string.match(all[i], '^%d+%.(.*)$')
    if member then hold_entry(all[i + 1], member) end
  end
end

local function each_member(key, act) -- of a sorted set, in pages
  for from = 0, redis.call('ZCARD', key) - 1, 1000 do
    for _, member in ipairs(redis.call('ZRANGE', key, from, from + 999)) do act(member) end
  end
end

local function hold_parked(member) hold_entry(parked_entry(member) or '') end
local function hold_item(item) -- of S:next, which refers to its job alone
  local id = id_of(item)
  if wanted[id] then jobs_held[id] = true end
end
