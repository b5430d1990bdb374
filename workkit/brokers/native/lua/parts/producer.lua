-- producer: a request that was asked before gets the same answer; 'old' where a later one of this producer was answered. Uses
-- producer, next_; gives seq, now, and the head of the queue as it was.
local seq = ARGV[1]
local asked, answered = string.match(redis.call('GET', producer) or '', '^(%d+) (.*)$')
if asked and tonumber(asked) > tonumber(seq) then return { 'old' } end
if asked and tonumber(asked) == tonumber(seq) then
  local ok, answer = pcall(cjson.decode, answered)
  if ok and type(answer) == 'table' then return answer end
end
local now = ARGV[2]
if now == '' then
  local t = redis.call('TIME')
  now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2]
