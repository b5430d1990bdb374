-- add: put jobs into S:jobs and S:next in one step. A job whose id is known stays as it is.
-- KEYS jobs next producer(token) wake cancelled groups members waiting ends
-- ARGV number now batch group rows...
--      now: ms; '' = by this server's clock
--      batch: how many rows came before these, and a digest of all rows with these; '' = no batch
--      group: the rows are members of this open batch of spec/groups.md: its id, 20 bytes of each job's id, and its name;
--      '' = of none
--      rows: four for each job: id, payload, due ms ('' = now), variant
--      variant: what is added if the id is known: '' = nothing; a nonce, or a whole payload
-- ->   now, then for each job 1 new | 2 the first id is known, the second is new | 0 known; behind 0 the due ms at which the
--      known one waits in S:next, if it does: '0 1794000000000'; or 'old'; or 'closed', the state of the batch, '' if there is none, and
--      its name
-- part: earliest
-- part: id
-- part: variant
local ids, n = {}, 0
for i = rows_at, #ARGV, 4 do
  n = n + 1
  ids[n] = ARGV[i]
end
local enter, places = nil, {} -- enter: new jobs into the batch of this step; places: their rows
if group ~= '' then
  local g = string.sub(group, 1, 16)
  local value = redis.call('HGET', groups, g) or ''
  local is_read, record = pcall(cmsgpack.unpack, string.sub(value, 2))
  if string.sub(value, 1, 1) ~= 'o' or not is_read or type(record) ~= 'table' then return { 'closed', string.sub(value, 1, 1), string.sub(group, 17 + 20 * n) } end
  function enter(added, dues) -- as the parts `groups` and `members` write them
    local of, entries, parked = bytes_of(g) .. 'w', {}, {}
    local key = 'open:' .. g .. '\0' .. string.rep('0', 16) .. '\0'
    for i = 1, #added, 2 do
      local id, due, item, at = added[i], dues[i], dues[i + 1], 17 + 20 * places[(i + 1) / 2]
      entries[i], entries[i + 1] = 0, of .. string.sub(group, at - 20, at - 1)
      parked[i], parked[i + 1] = 0, key .. id .. '@' .. due .. '\0r ' .. due .. ' 0 0 - ' .. item
    end
    redis.call('ZADD', members, unpack(entries))
    redis.call('ZADD', waiting, unpack(parked))
    record.total, record.added = (tonumber(record.total) or 0) + #added / 2, tonumber(now)
    redis.call('HSET', groups, g, 'o' .. cmsgpack.pack(record))
  end
end
local known = redis.call('HMGET', jobs, unpack(ids))
local seen = {} -- the due time of each job that this request adds
local earliest, latest_due, latest = nil, nil, nil
local payloads, items, answer, w = {}, {}, { now }, 0
for k = 1, n do
  local i = rows_at + 4 * (k - 1)
  local id, payload, state = ids[k], ARGV[i + 1], 1
  if known[k] or seen[id] then
    local variant = ARGV[i + 3]
    id, state = nil, 2
    if variant ~= '' then id, payload = variant_of(payload, variant) end
    if not id or seen[id] or redis.call('HEXISTS', jobs, id) == 1 then
      local due = seen[ids[k]] or redis.call('ZSCORE', next_, item_of(ids[k])) -- what this request adds is not there yet
      state = due and '0 ' .. due or 0
    end
  end
  if state == 1 or state == 2 then
    local due = ARGV[i + 2]
    if due == '' then due = now end
    seen[id] = due
    if due ~= latest_due then latest_due, latest = due, tonumber(due) end
    if not earliest or latest < earliest then earliest = latest end
    payloads[w + 1], payloads[w + 2] = id, payload
    items[w + 1], items[w + 2] = due, item_of(id)
    w = w + 2
    if enter then places[w / 2] = k end
  end
  answer[k + 1] = state
end
if w > 0 then
  redis.call('HSET', jobs, unpack(payloads)) -- a full server refuses this, before anything is done
  if enter then enter(payloads, items) else redis.call('ZADD', next_, unpack(items)) end
  if redis.call('EXISTS', cancelled, ends) > 0 then
    local added = {}
    for i = 1, w, 2 do added[#added + 1] = payloads[i] end
    redis.call('ZREM', cancelled, unpack(added))
    redis.pcall('HDEL', ends, unpack(added))
  end
end
if not enter then wake_for(earliest) end
remember('["' .. table.concat(answer, '","') .. '"]')
return answer
