-- id: the job that an item points to, whoever wrote it; '' where it cannot be read.
local function id_of(member)
  local plain = #member == 49 and string.match(member, '^{"id":"(%x+)"}$')
  if plain then return plain end
  local ok, item = pcall(cjson.decode, member)
  if ok and type(item) == 'table' and type(item.id) == 'string' then return item.id end
  return string.match(member, '"id"%s*:%s*"([^"\\]+)"') or ''
end
