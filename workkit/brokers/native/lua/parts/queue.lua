-- queue: remove an item from S:next, and from its indexes by priority.
-- KEYS next first
local function take_out(item) -- 1, or 0 if S:next did not have it
  for level = 1, 3 do redis.call('ZREM', first[level], item) end
  return redis.call('ZREM', next_, item)
end
