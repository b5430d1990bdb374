-- locks: the limit of a job name, and its slots. Give slots back: neither count goes below 0. A value that is no count is left to `relock`.
-- part: names
-- ARGV prefix
local function free(name, pool, count)
  local lock, info = queue_of(name) .. ':lock', queue_of(name) .. ':lock_info'
  local left, own = redis.pcall('DECRBY', lock, count), redis.pcall('HINCRBY', info, pool, -count)
  if type(left) == 'number' and left < 0 then redis.call('SET', lock, 0) end
  if type(own) == 'number' and own < 0 then redis.call('HSET', info, pool, 0) end
end

local function raise(name) -- a Go pool that was reaped while it was frozen has given a slot back that was not its own
  local lock, info, owed = queue_of(name) .. ':lock', queue_of(name) .. ':lock_info', 0
  local all = redis.pcall('HGETALL', info)
  for i = 1, #all, 2 do
    local count = tonumber(all[i + 1]) or 0
    if count < 0 then
      redis.call('HSET', info, all[i], 0)
      owed = owed - count
    end
  end
  local left = redis.pcall('INCRBY', lock, owed)
  if type(left) == 'number' and left < 0 then redis.call('SET', lock, 0) end
end

local function most_of(name, own) -- the limit of a name; 0 = none. `own`: the one that this pool has, or 0
  local key = queue_of(name) .. ':max_concurrency'
  local most = tonumber(redis.pcall('GET', key) or '') or 0
  if most > 0 or own == 0 then return most end
  redis.call('SET', key, own) -- a Go pool that starts sets it to 0 for each job without a limit
  return own
end
