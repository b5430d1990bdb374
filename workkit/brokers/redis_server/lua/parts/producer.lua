-- producer: answer a repeated request as the first time. Answer one that is older than the last of this producer with 'old'.
-- A batch that can be resumed is a producer with request numbers that count its rows. Its request names the number of the last one,
-- and a digest of all rows so far. If the batch is at another number, the answer is 'old'.
-- KEYS producer
-- ARGV number batch
local before, digest = string.match(batch, '^(%d+) (%x+)$')
local asked, had, answered = string.match(redis.call('GET', producer) or '', '^(%d+) ?(%x*) (.*)$')
if asked and tonumber(asked) > tonumber(number) then return { 'old' } end
if asked and tonumber(asked) == tonumber(number) and had == (digest or '') then
  local is_json, answer = pcall(cjson.decode, answered)
  if is_json and type(answer) == 'table' then return answer end
end
if before and (asked or '0') ~= before then return { 'old' } end

local function kept(last, so_far, answer) -- a batch for a week after its last addition
  redis.call('SET', producer, last .. ' ' .. (before and so_far .. ' ' or '') .. answer, 'EX', before and 604800 or 600)
end

local function reserve() -- a full server refuses this, before anything is done
  kept(before or '0', had or '0', '[]')
end

local function remember(answer) -- as a JSON array
  kept(number, digest, answer)
end
