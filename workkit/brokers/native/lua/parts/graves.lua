-- graves: every exit from the dead set passes here. Remove dead occurrences, and their tags from the index.
-- KEYS dead graves
-- part: leaves
local WIDTHS = { [0xc4] = 1, [0xc5] = 2, [0xc6] = 4 } -- bytes of the length of a msgpack bin, which cmsgpack does not read

local function payload_in(grave) -- nil: it holds none
  local _, at = string.find(grave, '\167payload', 1, true)
  local width = at and WIDTHS[string.byte(grave, at + 1)]
  if not width or #grave < at + 1 + width then return nil end
  local size = struct.unpack('>I' .. width, grave, at + 2)
  return string.sub(grave, at + 2 + width, at + 1 + width + size)
end

local function leave_dead(dead_ids, runs_again) -- how many there were
  for _, dead_id in ipairs(has_labels() and dead_ids or {}) do
    local labels = labels_of(payload_in(redis.call('HGET', graves, dead_id) or ''))
    each_tag('untag', labels, dead_id)
    if labels.after and not runs_again and has_groups() then forget_group(string.sub(dead_id, 1, 16)) end
  end
  redis.call('HDEL', graves, unpack(dead_ids))
  return redis.call('ZREM', dead, unpack(dead_ids))
end
