-- tell: show how far runs are, each only while its record stands; take back what is shown of those that are over.
-- KEYS  1 S:running:<L>  2 S:progress:<L>
-- ARGV  two for each run: its receipt; what it said, as JSON, or '' where it is over
-- ->    'gone' or 'ok'
local running, progress = KEYS[1], KEYS[2]
if redis.call('HEXISTS', running, '@') == 0 then return 'gone' end
redis.call('HDEL', running, '') -- a write that a full server allows
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] ~= '' and redis.call('HEXISTS', running, ARGV[i]) == 1 then
    redis.call('HSET', progress, ARGV[i], ARGV[i + 1])
  else
    redis.call('HDEL', progress, ARGV[i])
  end
end
return 'ok'
