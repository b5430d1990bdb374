-- fleet: the pools that live, and the names that they serve. A pool without a heartbeat counts as alive, and as serving nothing.
-- KEYS worker_pools
-- ARGV prefix
-- part: clock
-- part: listed
local fleet
local function living() -- by this server's clock, whatever time the caller pretends
  if fleet then return fleet end
  fleet = {}
  local now = time_or_now('')
  for _, id in ipairs(redis.call('SMEMBERS', worker_pools)) do
    local beat = redis.pcall('HMGET', prefix .. 'worker_pools:' .. id, 'heartbeat_at', 'job_names')
    local at = tonumber(beat[1] or '')
    if not at or at * 1000 > tonumber(now) - 11000 then
      fleet[#fleet + 1] = { names = beat[2] or '', is_ours = redis.call('EXISTS', prefix .. 'workkit:pool:' .. id) == 1 }
    end
  end
  return fleet
end

local function is_served(name)
  for _, one in ipairs(living()) do
    if lists(one.names, name) then return true end
  end
  return false
end

local function must_hold(name) -- whether a Go pool would bury a job of this name, and a pool of ours lives to hold it
  local is_lacking, is_ours = false, false
  for _, one in ipairs(living()) do
    is_lacking = is_lacking or not lists(one.names, name)
    is_ours = is_ours or one.is_ours
  end
  return is_lacking and is_ours
end
