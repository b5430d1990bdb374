-- producer: answer a repeated request as the first time. Answer one that is older than the last of this producer with 'old'.
-- Sets `now` by this server's clock if the caller sends none.
-- KEYS producer next
-- ARGV number now
-- part: clock
-- part: wake
local asked, answered = string.match(redis.call('GET', producer) or '', '^(%d+) (.*)$')
if asked and tonumber(asked) > tonumber(number) then return { 'old' } end
if asked and tonumber(asked) == tonumber(number) then
  local ok, answer = pcall(cjson.decode, answered)
  if ok and type(answer) == 'table' then return answer end
end
now = time_or_now(now)
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2] -- the first due time of the queue before this request

local function wake_for(earliest) -- the earliest due time that was added; nil: none was
  if earliest and (not head or earliest < tonumber(head) or earliest <= tonumber(now)) then wake_one() end
end

local function remember(answer) -- as a JSON array
  redis.call('SET', producer, number .. ' ' .. answer, 'EX', 600)
end
