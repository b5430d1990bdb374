-- producer: answer a repeated request as the first time. Answer one that is older than the last of this producer with 'old'.
-- Sets `now` by this server's clock if the caller sends none.
-- A batch that can be resumed is a producer whose request numbers count its rows. Its request names the number of the last one,
-- and a digest of all rows so far. If the batch is at another number, the answer is 'old'.
-- KEYS producer next
-- ARGV number now batch
-- part: clock
-- part: wake
local before, digest = string.match(batch, '^(%d+) (%x+)$')
local asked, had, answered = string.match(redis.call('GET', producer) or '', '^(%d+) ?(%x*) (.*)$')
if asked and tonumber(asked) > tonumber(number) then return { 'old' } end
if asked and tonumber(asked) == tonumber(number) and had == (digest or '') then
  local ok, answer = pcall(cjson.decode, answered)
  if ok and type(answer) == 'table' then return answer end
end
if before and asked ~= before then return { 'old' } end
now = time_or_now(now)
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2] -- the first due time of the queue before this request

local function wake_for(earliest) -- the earliest due time that was added; nil: none was
  if earliest and (not head or earliest < tonumber(head) or earliest <= tonumber(now)) then wake_one() end
end

local function kept(last, so_far, answer) -- a batch for a week after its last addition
  redis.call('SET', producer, last .. ' ' .. (before and so_far .. ' ' or '') .. answer, 'EX', before and 604800 or 600)
end

local function reserve() -- a full server refuses this, before anything is done
  kept(before or '0', had, '[]')
end

local function remember(answer) -- as a JSON array
  kept(number, digest, answer)
end
