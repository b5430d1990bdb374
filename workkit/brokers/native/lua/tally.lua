-- tally: add what a listener has counted to the cells of S:past, and a sample of its plain runs to S:runs. A repeated request would
-- count twice, so a listener repeats none: these are statistics.
-- KEYS lately days runs past(slots)...
-- ARGV spans cells samples
--      spans: msgpack list of {seconds that the key is kept, how many subjects it takes}, one for each key of S:past
--      cells: msgpack list of {subject, cell}; the first is that of the whole schedule
--      samples: msgpack list of runs, as for the part `ran`
-- ->   1
-- part: ran
local SIDES, COUNTS = { 8, 9 }, 7 -- of a cell: counts, then two lists of bucket, count, bucket, count

local function is_number(value) return type(value) == 'number' and value == value end -- not a number is no number

local function is_cell(cell)
  if type(cell) ~= 'table' or #cell ~= 9 or type(cell[8]) ~= 'table' or type(cell[9]) ~= 'table' then return false end
  for k = 1, COUNTS do if not is_number(cell[k]) then return false end end
  for _, k in ipairs(SIDES) do
    for _, number in ipairs(cell[k]) do if not is_number(number) then return false end end
  end
  return true
end

local function merged(a, b) -- two lists of bucket, count in the order of the buckets
  local sum, i, j = {}, 1, 1
  while a[i] or b[j] do
    local first = a[i] and (not b[j] or a[i] <= b[j]) and a[i] or b[j]
    local n = 0
    if a[i] == first then n, i = n + (a[i + 1] or 0), i + 2 end
    if b[j] == first then n, j = n + (b[j + 1] or 0), j + 2 end
    sum[#sum + 1], sum[#sum + 2] = first, n
  end
  return sum
end

local function add(cells_of, subject, cell, most)
  local had = redis.pcall('HGET', cells_of, subject)
  if not had and subject ~= 'more' and most > 1 then
    local count = redis.pcall('HLEN', cells_of)
    if type(count) == 'number' and count >= most then return add(cells_of, 'more', cell, most) end
  end
  local is_read, old = pcall(cmsgpack.unpack, type(had) == 'string' and had or '')
  local sum = {}
  if is_read and is_cell(old) then
    for k = 1, COUNTS do sum[k] = old[k] + cell[k] end
    for _, k in ipairs(SIDES) do sum[k] = merged(old[k], cell[k]) end
  else
    sum = cell
  end
  redis.pcall('HSET', cells_of, subject, cmsgpack.pack(sum))
end

local counted = cmsgpack.unpack(cells)
for n, span in ipairs(cmsgpack.unpack(spans)) do
  local key = KEYS[past_at + n - 1]
  for k = 1, span[2] > 1 and #counted or math.min(1, #counted) do add(key, counted[k][1], counted[k][2], span[2]) end
  redis.pcall('EXPIRE', key, span[1])
end
for _, r in ipairs(cmsgpack.unpack(samples)) do record(r) end
for _, key in ipairs({ lately, days, runs }) do redis.pcall('EXPIRE', key, 34560000) end
return 1
