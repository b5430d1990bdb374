-- logs: keep what a run has logged, under the name of the run; '' removes it. At most 5,000 are kept: of ten by chance, the
-- oldest makes room. A value begins with its time in ms. Nothing here may stop a job: a key of another type is left alone.
-- KEYS logs
local LOGS = 5000

local function keep_log(name, text)
  if text == '' then return redis.pcall('HDEL', logs, name) end
  local count = redis.pcall('HLEN', logs)
  if type(count) == 'number' and count >= LOGS and redis.pcall('HEXISTS', logs, name) == 0 then
    local some, oldest, at = redis.pcall('HRANDFIELD', logs, 10, 'WITHVALUES'), '', nil
    for k = 1, #some, 2 do
      local when = tonumber(string.match(some[k + 1], '^%d+')) or 0
      if not at or when < at then oldest, at = some[k], when end
    end
    redis.pcall('HDEL', logs, oldest)
  end
  redis.pcall('HSET', logs, name, text)
  redis.pcall('EXPIRE', logs, 7776000)
end
