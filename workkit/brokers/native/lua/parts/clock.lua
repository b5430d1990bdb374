-- clock: this server's time, as texts: a number of 16 digits loses some of them on its way to the server.
local function server_us()
  local t = redis.call('TIME')
  return t[1] .. string.format('%06d', t[2])
end

local function server_ms() -- second: the fraction of a ms on top
  local us = server_us()
  return string.sub(us, 1, -4), tonumber(string.sub(us, -3)) / 1000
end

local function time_or_now(ms) -- '' is now; second: the fraction of a ms on top
  if ms == '' then return server_ms() end
  return ms, 0
end
