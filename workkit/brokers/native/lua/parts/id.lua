-- id: the job that an item names, whoever wrote it; and the item that we write for a job.
local function id_of(member) -- '' if none can be read
  local plain = #member == 49 and string.match(member, '^{"id":"(%x+)"}$')
  if plain then return plain end
  local ok, item = pcall(cjson.decode, member)
  if ok and type(item) == 'table' and type(item.id) == 'string' then return item.id end
  return string.match(member, '"id"%s*:%s*"([^"\\]+)"') or ''
end

local function item_of(id) return '{"id":"' .. id .. '"}' end
