-- moved: a job that takes the place of another one keeps what the server has of that one under its id: how many runs it had;
-- without a name also its pause, and its last runs.
-- KEYS jobs ended counts lately days control
-- part: predecessor
-- part: control
local function can_move(over, name) -- a one-shot must wait, and a recurring job must have a further run
  local id, recurs = unpack(over)
  if redis.call('HEXISTS', jobs, id) == 0 or redis.call('SISMEMBER', ended, id) == 1 then return false end
  return recurs or place(id, name or id) ~= nil
end

local take_kept, put_kept
do
  local function take(hash, field)
    local value = redis.pcall('HGET', hash, field)
    if type(value) ~= 'string' then return nil end
    redis.call('HDEL', hash, field)
    return value
  end

  local function give(hash, field, value)
    if value then redis.call('HSET', hash, field, value) end
  end

  function take_kept(id, name)
    local kept = { count = take(counts, id) }
    if not name then
      kept.ring, kept.days, kept.pause = take(lately, id), take(days, id), take(control, 'paused:job:' .. id)
    end
    return kept
  end

  function put_kept(kept, id)
    give(counts, id, kept.count)
    give(lately, id, kept.ring)
    give(days, id, kept.days)
    give(control, 'paused:job:' .. id, kept.pause)
    if kept.pause then has_changed() end
  end
end
