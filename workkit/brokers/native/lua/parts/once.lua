-- once: of several additions in one window, or under one lasting key, only the first is added.
-- KEYS jobs windows held
-- part: windows
-- part: leaves
-- part: predecessor
local function is_in_window(window, now_ms) -- a window that ends later than any real one does not count
  local till = tonumber(redis.call('ZSCORE', windows, window) or 0)
  return till > now_ms and till <= now_ms + 400 * 86400000
end

local function known_under_its_key(m, now_ms) -- nil, or the answer: the job that its lasting key holds
  local id, how, ended_ms
  if m.once_for and is_in_window('once\0' .. m.once_key, now_ms) then id, how, ended_ms = holder_under(m.once_key) end
  if not id then return nil end
  if how == '' and redis.call('HEXISTS', jobs, id) == 1 then return '0', id, place(id, m.name or id) or '', '' end
  return '6', id, ended_ms, how ~= '' and how or 'unknown' -- a program that does not know such keys has removed its payload
end

local function open_windows(m, state, id, now_ms)
  if m.throttle then
    redis.call('ZADD', windows, string.format('%.0f', now_ms + m.throttle), m.window)
    redis.call('HSET', held, m.window, id)
  end
  if m.once_for and (state == '1' or state == '2' or id == m.id) then
    redis.call('ZADD', windows, string.format('%.0f', now_ms + m.once_for), 'once\0' .. m.once_key)
    hold(m.once_key, id)
  elseif m.once_key and m.over and holder_under(m.once_key) == m.over[1] then
    hold(m.once_key, id)
  end
end
