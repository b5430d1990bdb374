-- instant: this server's time, as TIME tells it: seconds and microseconds. On a test clock another text stands for it.
local function instant()
  return redis.call('TIME')
end
