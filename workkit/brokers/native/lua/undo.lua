-- undo: undo the changes of a step, if none of them has changed since. Runs that the same job has added to its ring since then
-- are kept.
-- KEYS jobs next again cancelled ended waiting names unique counts control slots first(1) first(2) first(3) lately runs wake
-- KEYS changes tags held deadlines result(which) groups members feeds ends
-- ARGV changes_made until_ms change
--      changes_made: as the part `undoing` of that step answered it
--      until_ms: by this server's clock, it can be undone before then; '' = at any time
-- ->   done | past | the key of which something differs
-- part: clock
-- part: control
-- part: wake
-- part: changed
-- part: leaves
local function is_as(c) -- whether a change is as its step left it
  local is = redis.pcall(c[5], c[1], c[2])
  if c[5] == 'ZSCORE' and type(is) == 'string' and c[3] then return tonumber(is) == tonumber(c[3]) end
  return is == c[3]
end

local function without_first(ring, left) -- the ring without the entry that is the first one of another
  local entry = string.sub(left, 17, 32)
  for at = 17, #ring - 15, 16 do
    if string.sub(ring, at, at + 15) == entry then return string.sub(ring, 1, at - 1) .. string.sub(ring, at + 16) end
  end
  return ring
end

local function put_field(key, field, value)
  if value then redis.call('HSET', key, field, value) else redis.call('HDEL', key, field) end
end

local function put_score(key, member, score)
  if score then redis.call('ZADD', key, score, member) else redis.call('ZREM', key, member) end
end

local function take_entry(key, number)
  if redis.pcall('XDEL', key, number) == 1 and redis.call('XLEN', key) == 0 then redis.call('DEL', key) end
end

if until_ms ~= '' and tonumber(until_ms) <= tonumber((server_ms())) then return 'past' end
local all = cmsgpack.unpack(changes_made)
for _, c in ipairs(all) do -- a mark may have left, a listener may have told what is late, and a run may have entered the ring
  if c[5] and c[1] ~= cancelled and c[1] ~= deadlines and c[1] ~= lately and not is_as(c) then return c[1] end
end
for _, c in ipairs(all) do
  if c[1] == lately and not is_as(c) then
    local ring = redis.pcall('HGET', lately, c[2])
    c[4] = type(ring) == 'string' and without_first(ring, c[3])
  end
  for _, hash in ipairs({ jobs, names, unique, counts, control, lately }) do
    if c[1] == hash then put_field(hash, c[2], c[4]) end
  end
  for _, zset in ipairs({ next_, again, waiting, slots, cancelled, deadlines, first[1], first[2], first[3] }) do
    if c[1] == zset then put_score(zset, c[2], c[4]) end
  end
  for _, stream in ipairs({ runs, result }) do
    if c[1] == stream then take_entry(stream, c[2]) end
  end
  if c[1] == ended then redis.call('SADD', ended, c[2]) end -- no step adds one
  if c[1] == control then has_changed() end
  if c[1] == jobs and c[4] then join(c[2], c[4]) end
  if c[1] == next_ and c[4] and has_groups() then -- it is due as before
    local run = occurrence_of(id_of(c[2]), c[4], '-')
    rejoin(run, nil, run)
  end
end
for _, c in ipairs(all) do -- its group may have settled since
  local g, id = string.match(c[1] == waiting and c[4] and c[2] or '', '^after:(%x+)%z%d+%z(%x+)@')
  if g then
    open_groups()
    local state = read_group(g)
    if state == GIVEN_UP then end_later(id, server_ms()) end
    if not state or state == DONE or state == GIVEN_UP then let_go('after:' .. g, server_ms()) end
  end
end
note()
wake_one()
return 'done'
