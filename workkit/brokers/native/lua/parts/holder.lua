-- holder: a name or a unique key goes with the job that holds it; another may hold it by now.
local function release(hash, field, id)
  if string.match(redis.call('HGET', hash, field) or '', '^%S*') == id then redis.call('HDEL', hash, field) end
end
