-- take_unique: give the unique keys of jobs free as they start, in one step with looking at what they hold. Where a key holds
-- a job text, that text takes the place of the listed one. A repeated request is answered as the first time.
-- KEYS taken(pool)
-- ARGV number pool prefix rows...
--      rows: three for each: queue name, listed bytes, unique key
-- ->   for each: the text that runs instead, or ''
-- part: names
local kept = redis.pcall('GET', taken)
if type(kept) == 'string' then
  local is_ours, before = pcall(cmsgpack.unpack, kept)
  if is_ours and type(before) == 'table' and before[1] == number then return before[2] end
end
local answer = {}
for i = rows_at, #ARGV, 3 do
  local name, listed, key, instead = ARGV[i], ARGV[i + 1], ARGV[i + 2], ''
  local holds = redis.pcall('GET', key)
  if type(holds) == 'string' then
    local is_json, job = pcall(cjson.decode, holds)
    if is_json and type(job) == 'table' and holds ~= listed then
      local list = in_progress_of(name, pool)
      if redis.pcall('LREM', list, -1, listed) == 1 then
        redis.call('LPUSH', list, holds)
        instead = holds
      end
    end
    redis.call('DEL', key)
  end
  answer[#answer + 1] = instead
end
redis.call('SET', taken, cmsgpack.pack({ number, answer }), 'EX', 3600)
return answer
