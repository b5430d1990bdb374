-- hold: put members that a Go pool would bury where no Go pool looks, with the times that they have; show the next page of
-- those that are due soon.
-- KEYS worker_pools scheduled retry held held_retry
-- ARGV prefix until skip_scheduled skip_retry rows...
--      until: second, '' = show none; skip: how many due members of each set to pass over
--      rows: three for each: place of its set (1 scheduled, 2 retry), its name, its bytes
-- ->   how many were moved, [place of the set, text, ...]
-- part: names
-- part: fleet
local PAGE = 500
local sets, own = { scheduled, retry }, { held, held_retry }
local moved, page, is_buried = 0, {}, {}
for i = rows_at, #ARGV, 3 do
  local place, name, text = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  if is_buried[name] == nil then is_buried[name] = must_hold(name) end
  local due = is_buried[name] and redis.call('ZSCORE', sets[place], text)
  if due then
    redis.call('ZADD', own[place], due, text)
    redis.call('ZREM', sets[place], text)
    moved = moved + 1
  end
end
if until_ ~= '' then
  for place, skip in ipairs({ skip_scheduled, skip_retry }) do
    for _, text in ipairs(redis.call('ZRANGEBYSCORE', sets[place], '-inf', until_, 'LIMIT', skip, PAGE)) do
      page[#page + 1], page[#page + 2] = place, text
    end
  end
end
return { moved, page }
