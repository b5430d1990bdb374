-- superseded: remove a job that an addition replaces though a listener has claimed it; forget the names and unique
-- keys of jobs that are over.
-- KEYS jobs cancelled waiting again slots
-- part: range
-- part: leaves
-- part: predecessor
local supersede
do
  local function was_parked(id, slot) -- whether it waited for this slot; then it does not any more
    for _, member in ipairs(redis.call('ZRANGEBYLEX', waiting, under(slot))) do
      local of, entry = string.match(string.sub(member, #slot + 2), '^%d+%z(%x+)@[^%z]*%z(.*)$')
      if of == id then
        redis.call('ZREM', waiting, member)
        if string.find(entry, '^%a %S+ %d+ %d+ g%S*;g') then redis.call('ZADD', again, 0, entry) end -- its end frees other slots
        return true
      end
    end
    return false
  end

  local function has_begun(id, slot) -- a claimed one-shot that takes this slot first
    return redis.call('ZLEXCOUNT', slots, '[' .. slot .. '\0' .. id .. '@', '(' .. slot .. '\0' .. id .. 'A') > 0
  end

  function supersede(id, slot, needs_parked) -- whether a one-shot that a listener has claimed was removed before it began
    if not was_parked(id, slot) and (needs_parked or has_begun(id, slot)) then return false end
    leave(id, 'replaced')
    redis.call('ZREM', cancelled, id)
    return true
  end
end

local function replace(m, old, old_recurs, holder, holder_recurs, due) -- the holder of its name, and that of its key: which was replaced,
  local replaced = '' -- and when the new one is due
  if old and (give_way(old, old_recurs, m.name or old, 'replaced') or m.name and supersede(old, 'over:' .. m.name, true)
    or old == holder and m.serial and supersede(old, 'unique:' .. m.key)) then replaced = old end
  if holder and holder ~= old then
    local at = place(holder, holder)
    if give_way(holder, holder_recurs, holder, 'replaced') then
      replaced = holder
      if at and not m.debounce and not m.recurs then due = at end
    elseif m.serial and supersede(holder, 'unique:' .. m.key) then
      replaced = holder
    end
  end
  return replaced, due
end

local function forget_some(hash) -- a few of its fields whose jobs are over
  local some = redis.call('HRANDFIELD', hash, -2, 'WITHVALUES') -- perhaps one field twice: that asks less of a large hash
  for i = 1, #some, 2 do
    if redis.call('HEXISTS', jobs, string.match(some[i + 1], '^%S*')) == 0 then redis.call('HDEL', hash, some[i]) end
  end
end
