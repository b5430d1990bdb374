-- take: note which messages a listener has taken, before they run. A message that the broker delivers again, though the run
-- that had it never ended, counts one crash.
-- KEYS running(listener) begun counted crashes unique unique_until control doubted
-- ARGV version rows...
--      version: of the control key, as the listener knows it
--      rows: one msgpack map for each message:
--        field, run: of its record; the listener's name and the field
--        place, record; again: 1 if the broker delivers it again
--        back: 1 if this listener holds it, and was taken for dead: that was no crash
--        key, id, keep: the unique key that it has, its message id, and for how many ms it keeps the key from now
--        copy: '1' if the producer has published it again, because a confirm was lost; else '0'
-- ->   'gone', or 'ok', the control key (fields and values; empty: as it knows it), then for each how often it crashed,
--      or -1: it came twice, and the other one is there
-- part: registration
-- part: growth
-- part: clock
-- part: news
-- part: runs
-- part: unique
if not last_number() then return { 'gone' } end
allow_growth(running)
local now = tonumber((server_ms()))
local answer = { 'ok', news_since(version) }
for i = rows_at, #ARGV do
  local m = cmsgpack.unpack(ARGV[i])
  local is_twin = false
  if m.key and redis.call('HEXISTS', doubted, m.id) == 1 then
    redis.call('HSETNX', doubted, m.place, m.copy)
    is_twin = redis.call('HGET', doubted, m.place) ~= m.copy
  end
  if is_twin then
    answer[#answer + 1] = -1
  else
    local holder = redis.call('HGET', begun, m.place)
    if m.back == 1 then
      uncount(m.place)
    elseif m.again == 1 and holder and holder ~= m.run then
      count_crash(m.place, holder)
    end
    redis.call('HSET', begun, m.place, m.run)
    redis.call('HSET', running, m.field, m.record)
    if m.key then hold_if_free(m.key, m.id, now + m.keep, now) end
    answer[#answer + 1] = tonumber(redis.call('HGET', crashes, m.place) or 0) or 0
  end
end
return answer
