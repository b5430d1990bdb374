-- tags: the index of tags, a tree in S:tags. A node is a field: the first hex digits of the paths below it. Its value is a list of
-- entries, each behind a byte with its length; or '', if one more digit divides it. The path of an entry: 16 digits of the SHA-1 of
-- its tag, then 8 of the job's id, or of the SHA-1 of a dead id. A tag with many jobs has a node of its own, its 16 digits.
-- An entry: 8 bytes of the tag; then the 20 bytes of the job's id; or of a dead one 4 bytes of the path, the 20 bytes of the id, and
-- the rest of the dead id. Nothing here may stop a job: a key of another type is left alone.
-- KEYS jobs tags
-- part: id
local index -- its functions, made at need: they are many, and most calls have no tags
local function open_tags()
local LARGEST, OF_TAG, DEEPEST, LIVE = 760, 16, 24, 28 -- bytes of a node; digits of a tag and of a path; bytes of an entry of S:jobs

local function node_of(name) -- nil: there is none
  local value = redis.pcall('HGET', tags, name)
  return type(value) == 'string' and value or nil
end

local function entry_for(tag, id) -- its path and the entry, with its length. `id`: of a job, or a dead id; nil if it is no id of ours
  local of, hex, rest = string.sub(redis.sha1hex(tag), 1, OF_TAG), string.sub(id, 1, 40), string.sub(id, 41)
  if not string.find(hex, '^[0-9a-f]+$') or #hex < 40 or #rest > 200 then return nil end
  local path = of .. string.sub(rest == '' and hex or redis.sha1hex(id), 1, DEEPEST - OF_TAG)
  local entry = bytes_of((rest == '' and of or path) .. hex) .. rest
  return path, string.char(#entry) .. entry
end

local function leaf_of(path) -- the node that has this path, or would have it, and its value
  local name, at, names = string.sub(path, 1, OF_TAG), 0, {}
  for depth = 0, 4 do names[depth + 1] = string.sub(path, 1, depth) end
  local values = redis.pcall('HMGET', tags, name, unpack(names)) -- in most schedules this is all
  local value = values[1]
  if not value then
    repeat
      at = at + 1
      name, value = names[at], values[at + 1]
    until value ~= '' or at == #names
  end
  while value == '' and #name < DEEPEST do
    name = string.sub(path, 1, #name + 1)
    value = node_of(name)
  end
  return name, value
end

local function divides(name) -- whether any part of a divided node is left
  for digit = 0, 15 do
    if redis.pcall('HEXISTS', tags, name .. string.format('%x', digit)) == 1 then return true end
  end
end

local function forget_node(name) -- and the nodes above it that divide nothing any more
  redis.pcall('HDEL', tags, name)
  while #name ~= 0 and #name ~= OF_TAG do
    name = string.sub(name, 1, -2)
    if node_of(name) ~= '' or divides(name) then return end
    redis.pcall('HDEL', tags, name)
  end
end

local function is_over(entry) -- a foreign peer has removed the payload of its job
  return #entry == LIVE and redis.call('HEXISTS', jobs, hex_of(string.sub(entry, 9))) == 0
end

local function entries_of(leaf) -- up to the first bytes that are none
  local found, at = {}, 1
  while at <= #leaf do
    local size = string.byte(leaf, at)
    if size < LIVE or at + size > #leaf then break end -- another program's
    found[#found + 1] = string.sub(leaf, at + 1, at + size)
    at = at + size + 1
  end
  return found
end

local function joined(entries)
  local list = {}
  for n, entry in ipairs(entries) do list[n] = string.char(#entry) .. entry end
  return table.concat(list)
end

local function divided(entries, part_of) -- the lists of the entries by a part of their paths, and the part of the longest list
  local lists, longest = {}, nil
  for _, entry in ipairs(entries) do
    local part = part_of(entry)
    lists[part] = (lists[part] or '') .. string.char(#entry) .. entry
    if not longest or #lists[part] > #lists[longest] then longest = part end
  end
  return lists, longest
end

local function keep_leaf(name, leaf)
  if leaf == '' then return forget_node(name) end
  if #leaf <= LARGEST or #name >= DEEPEST then return redis.pcall('HSET', tags, name, leaf) end
  local entries, size = {}, 0
  for _, entry in ipairs(entries_of(leaf)) do
    if not is_over(entry) then entries[#entries + 1], size = entry, size + #entry + 1 end
  end
  if size <= LARGEST then return keep_leaf(name, joined(entries)) end
  if #name < OF_TAG then
    local of_tags, longest = divided(entries, function(entry) return string.sub(entry, 1, 8) end)
    if 2 * #of_tags[longest] > LARGEST then -- a tag with many jobs gets a tree of its own
      keep_leaf(hex_of(longest), of_tags[longest])
      of_tags[longest] = nil
      local rest = ''
      for _, list in pairs(of_tags) do rest = rest .. list end
      return keep_leaf(name, rest)
    end
  end
  redis.pcall('HSET', tags, name, '')
  local place, is_high = math.floor(#name / 2) + 1, #name % 2 == 0
  local function digit_of(entry)
    local byte = string.byte(entry, place)
    return is_high and math.floor(byte / 16) or byte % 16
  end
  for digit, list in pairs(divided(entries, digit_of)) do keep_leaf(name .. string.format('%x', digit), list) end
end

local function tag(tag_text, id)
  local path, entry = entry_for(tag_text, id)
  if not path then return end
  local name, leaf = leaf_of(path)
  if not string.find(leaf or '', entry, 1, true) then keep_leaf(name, (leaf or '') .. entry) end
end

local function untag(tag_text, id)
  local path, entry = entry_for(tag_text, id)
  if not path then return end
  local name, leaf = leaf_of(path)
  local from, to = string.find(leaf or '', entry, 1, true)
  if not from then return end
  keep_leaf(name, string.sub(leaf, 1, from - 1) .. string.sub(leaf, to + 1))
end

index = {
  tag = tag, untag = untag, -- a job under a tag
  node_of = node_of, entry_for = entry_for, leaf_of = leaf_of, divides = divides, entries_of = entries_of, joined = joined,
  keep_leaf = keep_leaf, DEEPEST = DEEPEST, LIVE = LIVE,
}
end
