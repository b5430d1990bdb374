-- publish: say which functions a listener knows. Listeners of one program share one text. Forget listeners that are gone.
-- KEYS functions listeners
-- ARGV me digest text
--      digest: of the text; '' = this listener leaves
--      text: msgpack: list of functions
-- ->   how many listeners say what they know
local used, count, kind = {}, 0, redis.call('TYPE', functions).ok
if kind ~= 'hash' and kind ~= 'none' then return 0 end -- another program's: no listener must stop for it
if digest == '' then
  redis.call('HDEL', functions, 'of:' .. me)
else
  redis.call('HSET', functions, 'of:' .. me, digest, 'is:' .. digest, text)
end
local fields = redis.call('HKEYS', functions)
for _, field in ipairs(fields) do
  local listener = string.match(field, '^of:(.*)$')
  if listener and redis.call('ZSCORE', listeners, listener) then
    used[redis.call('HGET', functions, field)] = true
    count = count + 1
  elseif listener then
    redis.call('HDEL', functions, field)
  end
end
for _, field in ipairs(fields) do -- texts that nobody knows any more, and what another program has written
  local known = string.match(field, '^is:(.*)$')
  if not used[known or ''] and not string.match(field, '^of:') then redis.call('HDEL', functions, field) end
end
return count
