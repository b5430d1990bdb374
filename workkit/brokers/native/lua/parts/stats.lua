-- stats: count what happens, by the hour.
-- KEYS stats
-- part: counter
local function tally(what, n, now)
  add_to(stats, what .. ':' .. math.floor(tonumber(now) / 3600000), n)
end
