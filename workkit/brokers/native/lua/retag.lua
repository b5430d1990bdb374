-- retag: compare the index of tags with the jobs and the dead set, and correct it. It checks each again first.
-- KEYS jobs graves dead tags held groups members feeds ends waiting next cancelled wake first(1) first(2) first(3)
-- ARGV fix rows...
--      fix: 1 = correct it; '' = only look
--      rows: two for each: a node of S:tags, and one of its entries; or '' = the node as a whole. Or '=', and the id of a job or a
--      dead id that the index should name
-- ->   for each 1 it differs (it is corrected) | 0
-- part: graves
open_tags()
local function labels_under(name) -- of a job, or of a dead occurrence
  if #name == 40 then return labels_of(redis.call('HGET', jobs, name)) end
  local grave = redis.call('HGET', graves, name) or ''
  return labels_of(not string.find(grave, '\166reason\167corrupt', 1, true) and payload_in(grave))
end

local function lacks(name) -- a tag of which the index does not name it
  for _, text in ipairs(labels_under(name).tags or {}) do
    local path, entry = index.entry_for(text, name)
    local _, leaf = index.leaf_of(path or '')
    local is_there = not path
    for _, one in ipairs(index.entries_of(leaf or '')) do is_there = is_there or string.char(#one) .. one == entry end
    if not is_there then return text end
  end
end

local function is_right(node, entry)
  local path = hex_of(string.sub(entry, 1, index.DEEPEST / 2))
  local name = #entry == index.LIVE and hex_of(string.sub(entry, 9)) or hex_of(string.sub(entry, 13, 32)) .. string.sub(entry, 33)
  if index.leaf_of(path) ~= node then return false end
  for _, text in ipairs(labels_under(name).tags or {}) do
    local _, right = index.entry_for(text, name)
    if right == string.char(#entry) .. entry then return true end
  end
  return false
end

local function differs(node, entry)
  local leaf = index.node_of(node)
  if not leaf then return 0 end
  local rest
  if entry ~= '' then
    local from, to = string.find(leaf, string.char(#entry) .. entry, 1, true)
    if not from or is_right(node, entry) then return 0 end
    rest = string.sub(leaf, 1, from - 1) .. string.sub(leaf, to + 1)
  elseif leaf == '' then
    if index.divides(node) then return 0 end
    rest = ''
  else
    rest = index.joined(index.entries_of(leaf))
    if #rest == #leaf then return 0 end
  end
  if fix == '1' then index.keep_leaf(node, rest) end
  return 1
end

local answer = {}
for i = rows_at, #ARGV, 2 do
  local node, entry = ARGV[i], ARGV[i + 1]
  if node ~= '=' then
    answer[#answer + 1] = differs(node, entry)
  else
    local text = lacks(entry)
    answer[#answer + 1] = text and 1 or 0
    while text and fix == '1' do
      index.tag(text, entry)
      local another = lacks(entry)
      text = another ~= text and another or nil
    end
  end
end
return answer
