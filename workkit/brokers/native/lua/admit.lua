-- admit: re-arm recurring jobs that were claimed, before they run; the occurrence is opened in the same step.
-- KEYS  1 S:jobs  2 S:running:<L>  3 S:next  4 S:slots  5 S:ended
-- ARGV  1 seq, then six for each job: receipt, id, occurrence, next due ms ('' = there is none), item, new entry
-- ->    'gone' | 'old' | 'step', or 'ok', now in ms, a text with fractions, then a letter for each job:
--       g go | x its payload is gone | l no such record
local jobs, running, next_, slots, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local seq = tonumber(ARGV[1])
local stored = redis.call('HGET', running, '@')
if not stored then return { 'gone' } end
stored = tonumber(stored)
if seq < stored then return { 'old' } end
if seq > stored + 1 then return { 'step' } end
redis.call('HDEL', running, '')
local repeated = seq == stored
local t = redis.call('TIME')
local answer = { 'ok', t[1] .. string.format('%03d.%03d', math.floor(t[2] / 1000), t[2] % 1000) }
for i = 2, #ARGV, 6 do
  local receipt, id, occurrence, due, item, entry = unpack(ARGV, i, i + 5)
  local value = redis.call('HGET', running, receipt)
  local letter = 'g'
  if not value then
    letter = 'l'
  elseif repeated and value == entry then
    letter = 'g'
  elseif redis.call('HEXISTS', jobs, id) == 0 then
    letter = 'x'
  else
    if due == '' then
      redis.call('SADD', ended, id)
    else
      redis.call('ZADD', next_, 'NX', due, item) -- NX: whoever re-armed it first wins
    end
    redis.call('ZADD', slots, 0, 'run:' .. id .. '\0' .. occurrence)
    redis.call('HSET', running, receipt, entry)
  end
  answer[#answer + 1] = letter
end
redis.call('HSET', running, '@', ARGV[1])
return answer
