-- instant: the time that the caller passes, in the forms of TIME and of a stream's ids, where the server lets no script call
-- TIME. It is the last argument, in microseconds; the last key has the last instant. The later of both is the time, unless
-- the last instant is more than an hour ahead: then a clock was wrong.
local given, last_instant = tonumber(table.remove(ARGV)), table.remove(KEYS)
do
  local last = redis.pcall('GET', last_instant)
  last = type(last) == 'string' and string.match(last, '^%d+$') and tonumber(last) or 0
  if last > given and last <= given + 3600000000 then given = last end
end

local function instant()
  redis.pcall('SET', last_instant, string.format('%.0f', given), 'PX', 86400000)
  return { string.format('%.0f', math.floor(given / 1000000)), string.format('%.0f', given % 1000000) }
end

local function entry_id(_) -- of the stream under this key
  return '*'
end
