-- superseded: remove a job that an addition replaces though a listener has claimed it; forget names and unique keys whose jobs
-- are over.
-- KEYS jobs cancelled waiting slots
-- part: range
local function has_not_begun(id, key) -- of a claimed one-shot. Removes one that is parked for the slot of the key
  local slot = 'unique:' .. key
  for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, under(slot))) do
    if string.match(string.sub(member, #slot + 2), '^%d+%z(%x+)@') == id then
      redis.call('ZREM', waiting, member)
      return true
    end
  end
  return redis.call('ZLEXCOUNT', slots, '[' .. slot .. '\0' .. id .. '@', '(' .. slot .. '\0' .. id .. 'A') == 0
end

local function supersede(id, key) -- whether a one-shot that a listener has claimed was removed before it began
  if not has_not_begun(id, key) then return false end
  redis.call('HDEL', jobs, id)
  redis.call('ZREM', cancelled, id)
  return true
end

local function forget_some(hash) -- a few of its fields whose jobs are over
  local some = redis.call('HRANDFIELD', hash, 3, 'WITHVALUES')
  for i = 1, #some, 2 do
    if redis.call('HEXISTS', jobs, string.match(some[i + 1], '^%S*')) == 0 then redis.call('HDEL', hash, some[i]) end
  end
end
