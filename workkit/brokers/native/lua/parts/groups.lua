-- groups: jobs that belong together, and what waits for them (spec/groups.md). A member of S:members is 8 bytes of its group, a
-- letter, and the name of the member: 'w' while it has not ended; 'k' if it is done and listed; else how it ended. A member
-- that is done and not listed leaves. So nothing is counted, and nothing can drift.
-- A name is an id, `<id>@<due ms>` of a recurring job, or '=' and a group. A key of another type must not stop a job.
-- KEYS jobs groups members waiting next cancelled first
-- part: id
-- part: parked
-- part: wake
local is_grouped -- whether the schedule has groups; nil: not asked yet
local function ask(...) -- nil: the key has another type
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
end

local openers = {} -- make the functions of groups, where a call needs them: most need none
local function open_groups()
  for n = 1, #openers do openers[n]() end
  openers = {}
end

local function has_groups()
  if is_grouped == nil then is_grouped = redis.call('EXISTS', groups) == 1 end
  if is_grouped then open_groups() end
  return is_grouped
end

local FAILED = 'DCEMRVL' -- how a job may end that others should not build upon
local OPEN, RUNS, CANCELLED, DONE, GIVEN_UP = 'o', 'r', 'c', 'd', 'x' -- the first byte of a group in S:groups
local onward = {} -- `settled` of the part leaves: a job, an occurrence or a group has ended
local ended_batches = {} -- name, state, of those that this step has ended, or cancelled

local LETTERS, group_of, member_of, name_of, some_of, has_any, read_group, write_group, let_go, end_later, finish, cancel_group, give_rows
openers[1] = function()
  local ID = '^(' .. string.rep('[0-9a-f]', 40) .. ')(.*)$'
  LETTERS = {
    done = 'k', dead = 'D', corrupt = 'D', cancelled = 'C', discarded = 'X', expired = 'E', missed = 'M', replaced = 'R',
    removed = 'V', lost = 'L', missing = 'L',
  }

  function group_of(batch) return string.sub(redis.sha1hex('batch\0' .. batch), 1, 16) end

  function member_of(g, letter, name) -- its text in S:members
    local hex, rest = string.match(name, ID)
    return bytes_of(g) .. letter .. (hex and bytes_of(hex) .. rest or name)
  end

  function name_of(text) -- of a member, from its text
    local name = string.sub(text, 10)
    if #name < 20 then return name end
    return hex_of(string.sub(name, 1, 20)) .. string.sub(name, 21)
  end

  function some_of(g, letter, most, after) -- members of a letter, after the text of one
    local from = bytes_of(g) .. letter
    return ask('ZRANGEBYLEX', members, after and '(' .. after or '[' .. from,
      '(' .. bytes_of(g) .. string.char(string.byte(letter) + 1), 'LIMIT', 0, most) or {}
  end

  function has_any(g, letter) return #some_of(g, letter, 1) > 0 end

  function read_group(g) -- its state and its record; nil: there is none
    local value = ask('HGET', groups, g)
    if type(value) ~= 'string' then return nil end
    local ok, record = pcall(cmsgpack.unpack, string.sub(value, 2))
    if not ok or type(record) ~= 'table' then return nil end
    for _, field in ipairs({ 'name', 'of', 'then', 'success' }) do
      if record[field] ~= nil and type(record[field]) ~= 'string' then return nil end
    end
    local steps = tonumber(record.rows) -- with rows that wait in S:rows
    record.rows, record.given = steps and steps <= 1e6 and steps or nil, tonumber(record.given)
    return string.sub(value, 1, 1), record
  end

  function write_group(g, state, record)
    is_grouped = true
    redis.call('HSET', groups, g, state .. cmsgpack.pack(record))
  end

  function let_go(key, now) -- up to 1,000 jobs that are parked under this key: into S:next, due now or later; how many
    local from, to = under(key)
    local found = ask('ZRANGEBYLEX', waiting, from, to, 'LIMIT', 0, 1000) or {}
    if #found == 0 then return 0 end
    redis.call('ZREM', waiting, unpack(found))
    local ids, queued = {}, {}
    local size, due, text, at, score = #key + 18, nil, nil, nil, nil -- size: of what stands before the id
    for _, member in ipairs(found) do
      local id, item = string.sub(member, size + 1, size + 40), string.sub(member, -49)
      text = plain_id(item) == id and string.match(member, '^@(%d+)%z', size + 41)
      if not text then -- most are as we write them
        local _, found_due, _, _, _, other = parts_of(parked_entry(member) or '')
        id, text, item = other and id_of(other), found_due, other
      end
      if item then
        if text ~= due then due, score = text, string.format('%.0f', math.max(due_of(text), tonumber(now))) end
        at = #ids + 1
        ids[at], queued[2 * at - 1], queued[2 * at] = id, score, item
      end
    end
    if #ids == 0 then return #found end
    redis.call('ZADD', next_, 'NX', unpack(queued))
    for n, payload in ipairs(redis.call('HMGET', jobs, unpack(ids))) do
      local batch = payload and string.sub(key, 1, 5) ~= 'open:' and batch_in(payload)
      local level = payload and string.find(payload, '"priority":', 1, true) and string.match(payload, '"priority":([123])')
      if batch and read_group(group_of(batch)) == OPEN then -- it waits on, with the others of its batch
        redis.call('ZREM', next_, queued[2 * n])
        redis.call('ZADD', waiting, 0, 'open:' .. group_of(batch) .. string.sub(found[n], #key + 1))
      elseif level then redis.call('ZADD', first[tonumber(level)], 'NX', queued[2 * n - 1], queued[2 * n]) end
    end
    wake_one()
    return #found
  end

  function end_later(id, now) -- a job that waits for a group: the listener that claims it ends it as cancelled
    if id and redis.call('HEXISTS', jobs, id) == 1 then redis.call('ZADD', cancelled, now, id) end
  end

  function finish(g, now) -- nothing happens while a member has not ended, or the group is open
    if has_any(g, 'w') then return end
    local state, record = read_group(g)
    if state == RUNS or state == CANCELLED then
      local is_cancelled = state == CANCELLED
      state, record.settled = is_cancelled and GIVEN_UP or DONE, tonumber(now)
      write_group(g, state, record)
      if record.name then
        ended_batches[#ended_batches + 1] = record.name
        ended_batches[#ended_batches + 1] = state
        if is_cancelled then
          redis.call('ZREM', cancelled, 'batch:' .. record.name)
          end_later(record['then'], now)
          end_later(record.success, now)
          let_go('success:' .. g, now)
        end
        if not record['then'] then onward.settled('=' .. g, is_cancelled and 'cancelled' or has_any(g, 'D') and 'dead' or 'done') end
      end
      let_go('after:' .. g, now)
    end
    if state == DONE and record.success and not has_any(g, 'D') then let_go('success:' .. g, now) end
  end

  function cancel_group(g, record, now)
    write_group(g, CANCELLED, record)
    if record.name then ended_batches[#ended_batches + 1], ended_batches[#ended_batches + 2] = record.name, CANCELLED end
    if record.of then -- it waits for nothing more
      end_later(record.of, now)
      let_go('after:' .. g, now)
    else
      redis.call('ZADD', cancelled, now, 'batch:' .. record.name) -- ends the runs of its members; claims read S:groups
    end
  end

  function give_rows(kept, g, state, record, now) -- rows of a batch that is closed go into S:next: those of the next step
    local n, at, queued = (record.given or 0) + 1, tonumber(now), {}
    local field = g .. ' ' .. n
    local is_read, step = pcall(cmsgpack.unpack, redis.call('HGET', kept, field) or '')
    local ids, dues = unpack(is_read and type(step) == 'table' and step or {})
    for k = 1, type(ids) == 'string' and #ids / 40 or 0 do
      local due = type(dues) == 'table' and tonumber(dues[k]) or at
      queued[2 * k - 1], queued[2 * k] = due > at and due or at, item_of(string.sub(ids, 40 * k - 39, 40 * k))
    end
    if #queued > 0 then redis.call('ZADD', next_, 'NX', unpack(queued)) end
    redis.call('HDEL', kept, field)
    record.given = n
    if n >= record.rows then record.rows, record.given = nil, nil end
    write_group(g, state, record)
    wake_one()
  end
end
