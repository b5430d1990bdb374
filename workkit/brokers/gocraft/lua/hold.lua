-- hold: take members that a Go pool would bury out of its sight, and show the next page of those that are due soon.
-- KEYS scheduled retry held held_retry
-- ARGV until skip_scheduled skip_retry rows...
--      until: second; skip: how many due members of each set to pass over; rows: two for each: place of its set, its bytes
-- ->   place of the set, text, ...
local PAGE = 500
local sets, own = { scheduled, retry }, { held, held_retry }
for i = rows_at, #ARGV, 2 do
  local place, text = tonumber(ARGV[i]), ARGV[i + 1]
  local due = redis.call('ZSCORE', sets[place], text)
  if due then
    redis.call('ZREM', sets[place], text)
    redis.call('ZADD', own[place], due, text)
  end
end
local page = {}
for place, skip in ipairs({ skip_scheduled, skip_retry }) do
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', sets[place], '-inf', until_, 'LIMIT', skip, PAGE)) do
    page[#page + 1], page[#page + 2] = place, text
  end
end
return page
