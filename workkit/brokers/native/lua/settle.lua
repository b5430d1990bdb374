-- settle: apply endings, each only while its record stands; leaving one place and entering the next is one step.
-- KEYS  1 S:jobs  2 S:running:<L>  3 S:next  4 S:again  5 S:slots  6 S:ended  7 S:errors  8 S:dead  9 S:graves
--       10 S:skip:<L>  11 S:cancelled  12 S:stats  13 S:wake  14 S:waiting  15 S:unique  16 S:names  17 S:counts
--       18 S:first:1  19 S:first:2  20 S:first:3  21 S:crashed
-- ARGV  1 seq  2 now ms, or '' for this server's clock  3 msgpack list of the other endings
--       4 number of plain endings (one-shot done), then their receipts, then their ids
--       an ending is a map of what applies: receipt; drop id; close {id, occurrence}; next {item, due, crashes};
--       again {entry, delay ms}; dead {dead id, grave}; error {occurrence, bytes or ''}; skip id; count name;
--       free {occurrence, then the limit key of each slot}; unique key, name: given up with the payload;
--       first: the priority under which next is listed
-- ->    'gone' | 'old' | 'step', or 'ok', now, receipts that did not stand
local jobs, running, next_, again, slots, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local errors, dead, graves, skip, cancelled, stats, wake = unpack(KEYS, 7, 13)
local waiting, unique, names, counts = unpack(KEYS, 14, 17)
local crashed = KEYS[21]
local number = ARGV[1]
-- part: request
local now = ARGV[2]
if now == '' then
  local t = redis.call('TIME')
  now = t[1] .. string.format('%03d', math.floor(t[2] / 1000))
end
if repeated then return { 'ok', now, {} } end
redis.call('HSET', running, '@', ARGV[1])

-- part: counter
local hour = math.floor(tonumber(now) / 3600000)
local function count(what, n) add_to(stats, what .. ':' .. hour, n) end

local refused, due_now = {}, false
local plain = tonumber(ARGV[4])
if plain > 0 then
  local gone = redis.call('HDEL', running, unpack(ARGV, 5, 4 + plain))
  if gone == plain then
    redis.call('HDEL', jobs, unpack(ARGV, 5 + plain, 4 + 2 * plain))
    if redis.call('EXISTS', cancelled) == 1 then
      redis.call('ZREM', cancelled, unpack(ARGV, 5 + plain, 4 + 2 * plain))
    end
  else
    refused[1] = 'mismatch' -- cannot happen; the payloads stay, an orphan is found and a loss is not
  end
  count('done', plain)
end

-- part: id
-- part: entry
-- part: promote
-- part: handback

local function forget(e, id) -- its payload is gone, and what stood for it
  for hash, field in pairs({ [unique] = e.unique, [names] = e.name }) do
    if string.match(redis.call('HGET', hash, field) or '', '^%S*') == id then redis.call('HDEL', hash, field) end
  end
end

for _, e in ipairs(cmsgpack.unpack(ARGV[3])) do
  if redis.call('HDEL', running, e.receipt) == 0 then
    refused[#refused + 1] = e.receipt
  else
    if e.skip and redis.call('SADD', skip, e.skip) == 1 and redis.call('SCARD', skip) > 10000 then
      for _, id in ipairs(redis.call('SRANDMEMBER', skip, 10)) do -- marks of jobs that are over give way
        if redis.call('HEXISTS', jobs, id) == 0 then redis.call('SREM', skip, id) end
      end
    end
    if e.next then
      give_back(e.next[1], e.next[2], e.next[3])
      if e.first then redis.call('ZADD', KEYS[17 + e.first], 'NX', score_text(e.next[2]), e.next[1]) end
      due_now = true
    end
    if e.again then
      redis.call('ZADD', again, string.format('%.0f', tonumber(now) + e.again[2]), e.again[1])
      if e.again[2] == 0 then due_now = true end
    end
    if e.dead then
      redis.call('ZADD', dead, now, e.dead[1])
      redis.call('HSET', graves, e.dead[1], e.dead[2])
    end
    if e.error then
      if e.error[2] == '' then redis.call('HDEL', errors, e.error[1])
      else redis.call('HSET', errors, e.error[1], e.error[2]) end
    end
    if e.drop then
      redis.call('HDEL', jobs, e.drop)
      redis.call('ZREM', cancelled, e.drop)
      forget(e, e.drop)
    end
    if e.close then
      local id = e.close[1]
      redis.call('ZREM', slots, 'run:' .. id .. '\0' .. e.close[2])
      redis.call('ZREM', cancelled, e.close[2])
      if redis.call('SISMEMBER', ended, id) == 1
        and redis.call('ZLEXCOUNT', slots, '[run:' .. id .. '\0', '(run:' .. id .. '\1') == 0 then
        redis.call('HDEL', jobs, id)
        redis.call('SREM', ended, id)
        redis.call('HDEL', counts, id)
        forget(e, id)
      end
    end
    if e.free then
      for k = 2, #e.free do
        redis.call('ZREM', slots, e.free[k] .. '\0' .. e.free[1])
        due_now = promote(e.free[k]) or due_now
      end
    end
    if e.count then count(e.count, 1) end
  end
end
if due_now and redis.call('LLEN', wake) == 0 then redis.call('LPUSH', wake, 1) end
return { 'ok', now, refused }
