-- members: add the members of a batch, and what follows it (spec/groups.md).
-- A step of a batch is a map: g, its id; its name; closes; and in the step that makes it, makes: a map with on_death, by: ms, the
-- deadline of then; then, success: {id, payload, tags}.
-- KEYS jobs members waiting cancelled ends
-- part: after
-- part: deadlines
-- part: leaves
local function park(key, id, due, is_by_due) -- a job under a key; of a group they are in the order of their ids
  local entry = 'r ' .. due .. ' 0 0 - ' .. item_of(id)
  redis.call('ZADD', waiting, 0, parked_member(key, is_by_due and due or '0', id .. '@' .. due, entry))
end

local function begin_anew(id) -- forget how a job of this id has ended
  if redis.call('EXISTS', cancelled, ends) == 0 then return end
  redis.call('ZREM', cancelled, id)
  redis.pcall('HDEL', ends, id)
end

local open_step, parks_under, begin_step, enter, end_step
if is_grouping then
  local step, step_record, filled = nil, nil, {} -- filled: how many members this step adds to a group
  local HOLDS = '+' -- a member that lets no group end before this step is over

  function open_step(group, list, now) -- the answer if it is refused. Nothing is written before
    step = group ~= '' and cmsgpack.unpack(group) or nil
    local state
    if step then
      state, step_record = read_group(step.g)
      if state and state ~= OPEN or not (state or step.makes) then return { 'closed', state or '', step.name } end
    end
    for _, m in ipairs(list) do
      if m.batch and not m.over and not (step and step.name == m.batch) and not filled[group_of(m.batch)] then
        local g = group_of(m.batch)
        state = read_group(g)
        if state ~= RUNS then return { 'closed', state or '', m.batch } end
        filled[g] = 0
      end
    end
    local unknown, when = unknown_of(list)
    if unknown then return { 'unknown', unknown, when } end
  end

  function parks_under(m, id, now) -- the key under which it waits for a group; nil: it starts
    if m.before and wait_for(m, id, now) or m.over and move_group(m.over[1], id) then return 'after:' .. string.sub(id, 1, 16) end
    local g = m.batch and group_of(m.batch)
    local is_open = g and (step and step.g == g and not step.closes or m.over and read_group(g) == OPEN)
    return is_open and 'open:' .. g or nil
  end

  function begin_step(now)
    for g in pairs(filled) do redis.call('ZADD', members, 0, bytes_of(g) .. 'w' .. HOLDS) end
    if not step then return end
    filled[step.g] = 0
    if step_record then return end
    local makes = step.makes
    step_record = { name = step.name, on_death = makes.on_death, total = 0, made = tonumber(now) }
    for _, word in ipairs({ 'then', 'success' }) do
      local of = makes[word]
      if of then
        step_record[word], step_record[word .. '_payload'] = of.id, of.payload
        redis.call('HSETNX', jobs, of.id, of.payload)
        each_tag('tag', of, of.id)
        park((word == 'then' and 'after:' or 'success:') .. step.g, of.id, now)
        if word == 'then' and makes.by then set_deadline(of.id, makes.by) end
      end
    end
  end

  function enter(m, id) -- a new job into its batch
    local g = m.batch and group_of(m.batch)
    if not g then return end
    redis.call('ZADD', members, 0, member_of(g, 'w', id))
    filled[g] = filled[g] + 1
  end

  function end_step(now)
    for g, count in pairs(filled) do
      local state, record = read_group(g)
      record = record or step_record
      record.total, record.added = (tonumber(record.total) or 0) + count, tonumber(now)
      if step and g == step.g then
        state = step.closes and RUNS or OPEN
        write_group(g, state, record)
        if step.closes then let_go('open:' .. g, now) end
      else
        write_group(g, state, record)
        redis.call('ZREM', members, bytes_of(g) .. 'w' .. HOLDS)
      end
      finish(g, now)
    end
  end
end
