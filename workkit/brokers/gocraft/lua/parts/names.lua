-- names: the keys of one job name, as section 1 of the layout makes them.
-- ARGV prefix
local function queue_of(name)
  return prefix .. 'jobs:' .. name
end

local function in_progress_of(name, pool)
  return queue_of(name) .. ':' .. pool .. ':inprogress'
end

local function wake(name) -- one token is enough, however much is due; nobody may be there to take it
  local key = prefix .. 'workkit:wake:' .. name
  if redis.call('EXISTS', key) == 0 then
    redis.call('LPUSH', key, 1)
    redis.call('EXPIRE', key, 60)
  end
end

local function mark_of(text) -- by what the crashes of a job are counted: its id, which a move keeps, else all its bytes
  return string.match(text, '"id":"([^"\\]+)"') or redis.sha1hex(text)
end
