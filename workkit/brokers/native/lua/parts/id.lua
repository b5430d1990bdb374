-- id: the job that an item names, whoever wrote it; the item that we write for a job; and ids as bytes.
local find, sub = string.find, string.sub

local function plain_id(member) -- of an item as we write it; nil of any other. Every job pays for this: no pattern
  if #member == 49 and sub(member, 1, 7) == '{"id":"' and find(member, '"', 8, true) == 48
    and sub(member, 49) == '}' and not find(member, '\\', 8, true) then return sub(member, 8, 47) end
end

local function id_of(member) -- '' if none can be read
  local plain = plain_id(member)
  if plain then return plain end
  local ok, item = pcall(cjson.decode, member)
  if ok and type(item) == 'table' and type(item.id) == 'string' then return item.id end
  return string.match(member, '"id"%s*:%s*"([^"\\]+)"') or ''
end

local function item_of(id) return '{"id":"' .. id .. '"}' end

local function bytes_of(hex) -- of a multiple of 8 digits
  local words = {}
  for at = 1, #hex, 8 do words[#words + 1] = tonumber(string.sub(hex, at, at + 7), 16) end
  return struct.pack('>' .. string.rep('I4', #words), unpack(words))
end

local function hex_of(bytes) -- of a multiple of 4 bytes
  local words = { struct.unpack('>' .. string.rep('I4', #bytes / 4), bytes) }
  words[#words] = nil -- behind the words comes the place where it stopped
  return string.format(string.rep('%08x', #words), unpack(words))
end
