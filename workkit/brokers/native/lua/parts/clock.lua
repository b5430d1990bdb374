-- clock: this server's time. Texts of whole numbers, as a time of 16 digits does not survive as another.
local function server_us()
  local t = redis.call('TIME')
  return t[1] .. string.format('%06d', t[2])
end

local function server_ms() -- and the fraction of a ms on top of it
  local us = server_us()
  return string.sub(us, 1, -4), tonumber(string.sub(us, -3)) / 1000
end

local function time_or_now(ms) -- where a caller gives no time (''), it is now; and the fraction of a ms on top of it
  if ms == '' then return server_ms() end
  return ms, 0
end
