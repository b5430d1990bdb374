-- holder: when a job is over, free its name and its unique key, unless another job holds them now.
local function release(hash, field, id)
  if string.match(redis.call('HGET', hash, field) or '', '^%S*') == id then redis.call('HDEL', hash, field) end
end
