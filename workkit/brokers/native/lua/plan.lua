-- plan: decide for each source whether this plan holds, or the stored one. The newer of the two holds.
-- KEYS plans
-- ARGV mode plans...
--      mode: newer | back: also one that was replaced, or is older | look: nothing is written | told: as another shard decided
--      plans: five for each: its source; a digest; a version that sorts as a text, or ''; when its code was written,
--        ms; with told: its generation
-- ->   two for each: new (it holds from now on) | same (it held already) | older; the generation of the plan that holds
-- part: clock
-- part: plans
local MOST = 50 -- replaced plans that are remembered
local now = tonumber((server_ms()))

local function is_older(plan, digest, version, written)
  for _, replaced in ipairs(plan[6]) do
    if replaced == digest then return true end
  end
  if version ~= '' and plan[3] ~= '' and version ~= plan[3] then return version < plan[3] end
  return written < plan[4]
end

local function replaced_by(plan, digest) -- those replaced before it, and the one that holds until now
  local found = {}
  if plan and plan[2] ~= digest then found[1] = plan[2] end
  for _, other in ipairs(plan and plan[6] or found) do
    if #found < MOST and other ~= digest and other ~= found[1] then found[#found + 1] = other end
  end
  return found
end

local answer = {}
for i = plans_at, #ARGV, 5 do
  local source, digest, version, written, generation = unpack(ARGV, i, i + 4)
  written = math.min(tonumber(written), now) -- a clock that is ahead must not keep later plans out
  local plan, state = plan_of(source), 'new'
  local next_generation = (plan and plan[1] or 0) + 1
  if mode == 'told' then
    next_generation = tonumber(generation)
    if plan and plan[1] >= next_generation then state = plan[1] == next_generation and 'same' or 'older' end
  elseif plan and plan[2] == digest then
    state = 'same'
  elseif plan and mode ~= 'back' and is_older(plan, digest, version, written) then
    state = 'older'
  end
  if mode ~= 'look' and (state == 'new' or (state == 'same' and written < plan[4])) then
    local since = state == 'new' and now or plan[5]
    local kept = state == 'new' and replaced_by(plan, digest) or plan[6]
    plan = { state == 'new' and next_generation or plan[1], digest, version, written, since, kept }
    redis.call('HSET', plans, 'plan:' .. source, cmsgpack.pack(plan))
  end
  answer[#answer + 1] = state
  answer[#answer + 1] = plan and plan[1] or 0
end
return answer
