-- holder: the name and the unique key of a job, unless another one has them now: free them when it is over, and take them again
-- when it runs again.
-- KEYS jobs
local function release(hash, field, id)
  if string.match(redis.call('HGET', hash, field) or '', '^%S*') == id then redis.call('HDEL', hash, field) end
end

local function regain(hash, field, id)
  local holder = field and string.match(redis.call('HGET', hash, field) or '', '^%S*')
  if holder and redis.call('HEXISTS', jobs, holder) == 0 then redis.call('HSET', hash, field, id) end
end
