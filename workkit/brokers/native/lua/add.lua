-- add: put jobs into S:jobs and S:next in one step. A job whose id is known stays as it is.
-- KEYS jobs next producer(token) wake cancelled ends groups rows members
-- ARGV number now batch group rows...
--      now: ms; '' = by this server's clock
--      batch: how many rows came before these, and a digest of all rows with these; '' = no batch
--      group: the open batch of spec/groups.md of which these are rows, which wait until it is closed: its id and name; '' = of none
--      rows: four for each job: id, payload, due ms ('' = now), variant. Of a batch: 20 bytes of each id, and a
--      msgpack list: the ids, the payloads, and the due times, ms (0 = now), if one has any
--      variant: what is added if the id is known: '' = nothing; a nonce, or a whole payload
-- ->   now, then for each job 1 new | 2 the first id is known, the second is new | 0 known; behind 0 the due ms at which the
--      known one waits in S:next, if it does: '0 1794000000000'; or 'old'; or 'closed', the state of the batch,
--      '' if there is none, and its name
-- part: earliest
-- part: id
-- part: variant
if group ~= '' then
  local g, raw = string.sub(group, 1, 16), ARGV[rows_at]
  local value = redis.call('HGET', groups, g) or ''
  local is_read, record = pcall(cmsgpack.unpack, string.sub(value, 2))
  if string.sub(value, 1, 1) ~= 'o' or not is_read or type(record) ~= 'table' then
    return { 'closed', string.sub(value, 1, 1), string.sub(group, 17) }
  end
  local step, of = cmsgpack.unpack(ARGV[rows_at + 1]), bytes_of(g) .. 'w'
  local ids, payloads, dues, content, entries, added, times, answer, w = step[1], step[2], step[3], {}, {}, {}, {}, { now }, 0
  for k, known in ipairs(redis.call('HMGET', jobs, unpack(ids))) do
    answer[k + 1] = known and 0 or 1
    if not known then
      w = w + 1
      content[2 * w - 1], content[2 * w], added[w], times[w] = ids[k], payloads[k], ids[k], dues and dues[k]
      entries[2 * w - 1], entries[2 * w] = 0, of .. string.sub(raw, 20 * k - 19, 20 * k)
    end
  end
  if w > 0 then
    record.rows, record.total, record.added = (tonumber(record.rows) or 0) + 1, (tonumber(record.total) or 0) + w, tonumber(now)
    redis.call('HSET', jobs, unpack(content)) -- a full server refuses this, before anything is done
    redis.call('ZADD', members, unpack(entries))
    redis.call('HSET', rows, g .. ' ' .. record.rows, cmsgpack.pack({ table.concat(added), dues and times }))
    redis.call('HSET', groups, g, 'o' .. cmsgpack.pack(record))
    if redis.call('EXISTS', cancelled, ends) > 0 then
      redis.call('ZREM', cancelled, unpack(added))
      redis.pcall('HDEL', ends, unpack(added))
    end
  end
  remember('["' .. table.concat(answer, '","') .. '"]')
  return answer
end
local ids, n = {}, 0
for i = rows_at, #ARGV, 4 do
  n = n + 1
  ids[n] = ARGV[i]
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
  end
  answer[k + 1] = state
end
if w > 0 then
  redis.call('HSET', jobs, unpack(payloads)) -- a full server refuses this, before anything is done
  redis.call('ZADD', next_, unpack(items))
  if redis.call('EXISTS', cancelled, ends) > 0 then
    local added = {}
    for i = 1, w, 2 do added[#added + 1] = payloads[i] end
    redis.call('ZREM', cancelled, unpack(added))
    redis.pcall('HDEL', ends, unpack(added))
  end
end
wake_for(earliest)
remember('["' .. table.concat(answer, '","') .. '"]')
return answer
