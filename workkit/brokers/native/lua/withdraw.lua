-- withdraw: remove jobs that a plan has made and no longer has, as long as that plan holds. A run that has begun goes on.
-- KEYS jobs next waiting crashed counts ended names control plans first(1) first(2) first(3) tags held
-- KEYS groups members feeds ends cancelled wake slots
-- ARGV source generation withdrawn...
-- ->   how many were removed; -1: the plan was replaced, and nothing was removed
-- part: growth
-- part: control
-- part: predecessor
-- part: holder
-- part: plans
allow_growth(jobs)
if not holds(source, generation) then return -1 end
local removed = 0
for i = withdrawn_at, #ARGV do
  local name = ARGV[i]
  local made, of = string.match(redis.call('HGET', plans, 'job:' .. name) or '', '^(%S+) (.*)$')
  if of == source then
    local id, recurs, content = holder_of(names, name)
    if id and content == made and give_way(id, recurs, name, 'removed') then -- not what somebody else put under the name
      removed = removed + 1
      release(names, name, id)
      if redis.call('HDEL', control, 'paused:job:' .. name) == 1 then has_changed() end
    end
    redis.call('HDEL', plans, 'job:' .. name)
  end
end
return removed
