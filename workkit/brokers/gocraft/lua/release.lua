-- release: remove a unique key, or give it a life, if it is still the one that was looked at: nobody renewed it since.
-- KEYS any_key(key)
-- ARGV value ends life
--      ends: ms at which it ends, '' = never; life: seconds to give to a key that has none, '' = remove it
-- ->   1 changed | 0 it is another one now
-- part: clock
local SLACK = 1500 -- between the clock and the life that a client asked for
if redis.pcall('GET', any_key) ~= value then return 0 end
local left = redis.call('PTTL', any_key)
if ends == '' then
  if left ~= -1 then return 0 end
elseif left < 0 or math.abs(time_or_now('') + left - tonumber(ends)) > SLACK then
  return 0
end
if life == '' then redis.call('DEL', any_key) else redis.call('EXPIRE', any_key, life) end
return 1
