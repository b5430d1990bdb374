-- clock: this server's time in ms, as a text.
-- part: instant
local function time_or_now(ms) -- '' is now
  if ms ~= '' then return ms end
  local t = instant()
  return t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
