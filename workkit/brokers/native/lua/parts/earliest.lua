-- earliest: wake a listener if an addition is due now, or before all that was in the queue.
-- Sets `now` by this server's clock if the caller sends none.
-- KEYS next
-- ARGV now
-- part: producer
-- part: clock
-- part: wake
now = time_or_now(now)
local head = redis.call('ZRANGE', next_, 0, 0, 'WITHSCORES')[2] -- the first due time of the queue before this request

local function wake_for(earliest) -- the earliest due time that was added; nil: none was
  if earliest and (not head or earliest < tonumber(head) or earliest <= tonumber(now)) then wake_one() end
end
