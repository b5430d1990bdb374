-- id: the job that an item names, whoever wrote it; and the item that we write for a job.
local find, sub = string.find, string.sub

local function plain_id(member) -- of an item as we write it; nil of any other. Every job pays for this: no pattern
  if #member == 49 and sub(member, 1, 7) == '{"id":"' and find(member, '"', 8, true) == 48
    and not find(member, '\\', 8, true) then return sub(member, 8, 47) end
end

local function id_of(member) -- '' if none can be read
  local plain = plain_id(member)
  if plain then return plain end
  local ok, item = pcall(cjson.decode, member)
  if ok and type(item) == 'table' and type(item.id) == 'string' then return item.id end
  return string.match(member, '"id"%s*:%s*"([^"\\]+)"') or ''
end

local function item_of(id) return '{"id":"' .. id .. '"}' end
