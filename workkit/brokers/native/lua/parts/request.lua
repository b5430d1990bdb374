-- request: compare the number of this request with the last one of its listener. If it is neither the same nor the next, the
-- script ends here. Sets `repeated`: the listener asks again, because the answer was lost.
-- KEYS running
-- ARGV number
-- part: registration
-- part: growth
local last = last_number()
if not last then return { 'gone' } end
if tonumber(number) < last then return { 'old' } end
if tonumber(number) > last + 1 then return { 'step' } end
allow_growth(running)
local repeated = tonumber(number) == last
