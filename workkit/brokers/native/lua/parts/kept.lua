-- kept: keep the result of a run for this many ms, in the step that ends it. `fields` are those of its entry in S:result:<id>.
-- A key of another type, or with an entry from the future, is replaced.
-- part: instant
local RESULTS = 60 -- of one job

local function keep_result(key, ms, fields)
  local function write() return redis.pcall('XADD', key, 'MAXLEN', '=', RESULTS, entry_id(key), 't', ms, unpack(fields)) end
  local place = write()
  if type(place) ~= 'string' then
    redis.call('DEL', key)
    place = write()
    if type(place) ~= 'string' then return end
  end
  redis.call('XTRIM', key, 'MINID', '=', string.format('%.0f', math.max(0, tonumber(string.match(place, '^%d+')) - ms)))
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
  return place
end
