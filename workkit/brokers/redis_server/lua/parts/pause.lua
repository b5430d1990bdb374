-- pause: read when a pause ends, ms (math.huge: when it is resumed); nil if there is no pause, or if it cannot be read.
local function paused_until(packed)
  local kind = packed and string.byte(packed)
  if not kind or kind < 0x92 or kind > 0x9f then return nil end -- an array of two or more
  local ok, pause = pcall(cmsgpack.unpack, packed)
  if not ok or not (pause[1] == nil or type(pause[1]) == 'string') then return nil end
  local ms = pause[2]
  if ms == nil then return math.huge end
  return type(ms) == 'number' and ms == ms and ms or nil
end
