-- undoing: note what a step changes, so that the script `undo` can put it back. A change is a list {key, field or member, its
-- value or score now, the one before, the command that reads it}; false = none. Of a stream: {key, number of the entry that
-- was added}.
-- ARGV undoable
--      undoable: 1 = answer what undoes this; '' = do not
local watched, added = {}, {}

local function value_of(read, key, field) -- read: HGET, ZSCORE or SISMEMBER. A key of another type has none
  local found = redis.pcall(read, key, field)
  return type(found) ~= 'table' and found
end

local function watch(read, key, field) -- before it changes
  if undoable ~= '' then watched[#watched + 1] = { read, key, field, value_of(read, key, field) } end
end

local function adds(key, number) -- an entry of a stream
  if type(number) == 'string' then added[#added + 1] = { key, number } end
end

local function undoing() -- what changed since; '' if nothing did
  local changes_made = {}
  for _, w in ipairs(watched) do
    local is = value_of(w[1], w[2], w[3])
    if is ~= w[4] then changes_made[#changes_made + 1] = { w[2], w[3], is, w[4], w[1] } end
  end
  if undoable == '' or #changes_made == 0 then return '' end
  for _, one in ipairs(added) do changes_made[#changes_made + 1] = one end
  return cmsgpack.pack(changes_made)
end
