-- instant: the time of the test clock, in the forms of TIME and of a stream's ids; this server's time while no test has set it.
local function instant()
  local ms = redis.call('GET', 'workkit:test-clock')
  if not ms then return redis.call('TIME') end
  return { string.sub(ms, 1, -4), string.sub(ms, -3) .. '000' }
end

local function entry_id(stream) -- as the server makes it: never before that of the last entry
  local ms = redis.call('GET', 'workkit:test-clock')
  if not ms then return '*' end
  local last = redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  local before, number = string.match(last and last[1] or '', '^(%d+)-(%d+)$')
  if not before or tonumber(before) < tonumber(ms) then return ms .. '-0' end
  return before .. '-' .. string.format('%.0f', number + 1)
end
