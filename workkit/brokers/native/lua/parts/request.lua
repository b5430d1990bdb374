-- request: the number of this request (ARGV[1], or `number`) against the last one of its listener. Uses running; gives seq,
-- and whether it is asked again. A registration whose number cannot be read is as one that is gone.
local seq, stored = tonumber(number), redis.call('HGET', running, '@')
if not stored or not string.find(stored, '^%d+$') then return { 'gone' } end
stored = tonumber(stored)
if seq < stored then return { 'old' } end
if seq > stored + 1 then return { 'step' } end
redis.call('HDEL', running, '') -- a write that a full server allows; after it the rest may grow
local repeated = seq == stored
