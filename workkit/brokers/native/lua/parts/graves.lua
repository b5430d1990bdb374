-- graves: every exit from the dead set passes here. Remove dead occurrences, and their tags from the index.
-- KEYS dead graves
-- part: leaves
local function leave_dead(dead_ids) -- how many there were
  for _, dead_id in ipairs(has_labels() and dead_ids or {}) do
    local ok, grave = pcall(cmsgpack.unpack, redis.call('HGET', graves, dead_id) or '')
    local payload = ok and type(grave) == 'table' and grave.payload
    each_tag(untag, labels_of(type(payload) == 'string' and payload), dead_id)
  end
  redis.call('HDEL', graves, unpack(dead_ids))
  return redis.call('ZREM', dead, unpack(dead_ids))
end
