-- ran: record an occurrence in the step that ends it. `r` is the list {the field of its job in S:lately, '' if the job does not
-- recur; its 16 bytes; how many runs it counts for; whether it enters S:runs: 0 if none of its job did for 30 s, 1 yes, 2 no; id; name;
-- function; listener; error; then fields and values: 'a', its arguments; 'l', the name of its log}.
-- The head of a ring (16 bytes): day 2, worst ending and runs of that day 3, last entry of S:runs 4 (s), runs since then 4, 0 3.
-- Nothing here may stop a job: a key of another type is left alone.
-- KEYS lately days runs
-- part: instant
local RINGS, HEAD, APART = 10000, '>I2I3I4I4I3', 30
local SKIPPED, MISSED, OVERLAP = 2, 5, 6 -- endings of occurrences that did not run

local function read_text(hash, field, size) -- a value whose length is a multiple of this size, else ''
  local value = redis.pcall('HGET', hash, field)
  return type(value) == 'string' and #value % size == 0 and value or ''
end

local function make_room() -- of ten jobs by chance, forget the one that ran the longest ago
  local count = redis.pcall('HLEN', lately)
  if type(count) ~= 'number' or count < RINGS then return end
  local rings = redis.pcall('HRANDFIELD', lately, 10, 'WITHVALUES')
  local oldest, at = '', nil
  for k = 1, #rings, 2 do
    local ended = string.sub(rings[k + 1], 17, 22)
    if not at or ended < at then oldest, at = rings[k], ended end
  end
  redis.pcall('HDEL', lately, oldest)
  redis.pcall('HDEL', days, oldest)
end

local function keep_run(r, times) -- the number of the entry
  return redis.pcall('XADD', runs, 'MAXLEN', '~', 50000, entry_id(runs), 'i', r[5], 'n', r[6], 'f', r[7], 'r', r[2], 'w', r[8],
    'm', r[9], 'x', string.format('%.0f', times), unpack(r, 10))
end

local function keep_in_ring(r)
  local number
  local ended, _, _, code = struct.unpack('>I6I4I4B', r[2])
  local day, second, ending = math.floor(ended / 86400000) % 65536, math.floor(ended / 1000) % 4294967296, code % 16
  local ring = read_text(lately, r[1], 16)
  local of, counted, last, since = 0, 0, 0, 0
  if ring ~= '' then of, counted, last, since = struct.unpack(HEAD, ring) else make_room() end
  if ending ~= SKIPPED then -- its time is yet to come
    if of ~= day and of ~= day + 1 then
      if counted > 0 and of < day then
        redis.pcall('HSET', days, r[1], string.sub(read_text(days, r[1], 5), -1995) .. string.sub(ring, 1, 5))
      end
      of, counted = day, 0
    end
    local n = counted % 1048576 + ((ending == MISSED or ending == OVERLAP) and 0 or r[3])
    counted = math.max(math.floor(counted / 1048576), ending) * 1048576 + math.min(1048575, n)
  end
  if r[4] == 1 then
    number = keep_run(r, r[3])
  elseif r[4] == 0 and math.abs(second - last) >= APART then
    number = keep_run(r, since + r[3])
    last, since = second, 0
  else
    since = math.min(4294967295, since + r[3])
  end
  redis.pcall('HSET', lately, r[1], struct.pack(HEAD, of, counted, last, since, 0) .. r[2] .. string.sub(ring, 17, 960))
  return number
end

local function record(r) -- the number of its entry in S:runs, if it has one
  if r[1] == '' then return keep_run(r, r[3]) end
  return keep_in_ring(r)
end
