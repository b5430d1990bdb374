-- leaves: every exit from S:jobs passes here. Remove the payload and its tags from the index, and note under its lasting key how it
-- ended. `labels` is a table with its `tags` and its `once_key`, if it has any; nil: read them.
-- Most schedules have neither: one question tells.
-- KEYS jobs tags held
-- part: clock
-- part: tags
local is_labelled -- whether a job may have tags or a lasting key; nil: not asked yet

local function has_labels()
  if is_labelled == nil then is_labelled = redis.call('EXISTS', tags, held) > 0 end
  return is_labelled
end

local function labels_of(payload) -- any program may have written it
  local has_some = payload and (string.find(payload, '"tags"', 1, true) or string.find(payload, '"once_key"', 1, true)
    or string.find(payload, '\\u', 1, true))
  local ok, read = pcall(cjson.decode, has_some and payload or '{}')
  local opts = ok and type(read) == 'table' and type(read.opts) == 'table' and read.opts or {}
  local found = { once_key = type(opts.once_key) == 'string' and opts.once_key or nil }
  if type(opts.tags) == 'table' and #opts.tags <= 8 then
    found.tags = {}
    for _, text in ipairs(opts.tags) do
      if type(text) == 'string' and #text > 0 and #text <= 64 then found.tags[#found.tags + 1] = text end
    end
  end
  return found
end

local function each_tag(act, labels, id)
  for _, text in ipairs(labels.tags or {}) do act(text, id) end
end

local function holder_under(once_key) -- the id of the job that its window holds, how it ended, and when; nil: it has not ended
  local value = redis.pcall('HGET', held, 'once\0' .. once_key)
  if type(value) ~= 'string' then return nil end
  return string.match(value, '^(%S+) ?(%S*) ?(%d*)$')
end

local function hold(once_key, id, how) -- how it ended; nil: it has not
  redis.pcall('HSET', held, 'once\0' .. once_key, how and id .. ' ' .. how .. ' ' .. server_ms() or id)
end

local function leave(id, how, labels) -- S:jobs
  labels = labels or has_labels() and labels_of(redis.call('HGET', jobs, id)) or {}
  redis.call('HDEL', jobs, id)
  each_tag(untag, labels, id)
  if labels.once_key and holder_under(labels.once_key) == id then hold(labels.once_key, id, how) end
end

local function join(id, payload, was) -- S:jobs again. `was`: the id that it had when it died
  local labels = labels_of(payload) -- also where the index is empty now
  each_tag(tag, labels, id)
  local holder = labels.once_key and holder_under(labels.once_key)
  if holder and (holder == id or holder == was) then hold(labels.once_key, id) end
end
