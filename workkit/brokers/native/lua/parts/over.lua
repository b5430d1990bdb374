-- over: end a one-shot, or one occurrence of a recurring job. `e` is as in settle; has_marks: some job may be cancelled.
-- KEYS names unique ended cancelled
-- part: slots
-- part: ending
-- part: holder
local function forget(e, id) -- without its payload, it gives up its name and its unique key
  if e.name then release(names, e.name, id) end
  if e.unique then release(unique, e.unique, id) end
end

local function how(e) return e.how or e.dead and 'dead' or e.count or 'done' end

local function drop(e, has_marks)
  leave(e.drop, how(e), not e.unread and e or nil)
  if has_marks then redis.call('ZREM', cancelled, e.drop) end
  forget(e, e.drop)
end

local function close(e, has_marks)
  local id, run = e.close[1], e.close[2]
  drop_slot('run:' .. id, run)
  if has_marks then redis.call('ZREM', cancelled, run) end
  if has_groups() then settled(run, how(e)) end
  if redis.call('SISMEMBER', ended, id) == 1 and not is_open(id) then
    end_job(id, how(e), not e.unread and e or nil)
    forget(e, id)
  end
end
