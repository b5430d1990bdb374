-- clock: this server's time in ms, as a text.
-- part: instant
local function server_ms() -- second: the fraction of a ms on top
  local t = instant()
  return t[1] .. string.format('%03d', math.floor(t[2] / 1000)), t[2] % 1000 / 1000
end

local function time_or_now(ms) -- '' is now; second: the fraction of a ms on top
  if ms == '' then return server_ms() end
  return ms, 0
end
