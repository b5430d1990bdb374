-- producer: a request that was asked before gets the same answer. Uses producer, next_; gives seq, now, and the head of
-- the queue as it was.
local seq = ARGV[1]
local stored = redis.call('GET', producer)
if stored then
  local blank = string.find(stored, ' ', 1, true)
  if tonumber(string.sub(stored, 1, blank - 1)) >= tonumber(seq) then return cjson.decode(string.sub(stored, blank + 1)) end
end
local now = ARGV[2]
if now == '' then
  local t = redis.call('TIME')
  now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2]
