-- plans: read which plan of a source holds.
-- KEYS plans
local function plan_of(source) -- {generation, digest, version, written ms, since ms, {replaced digests}}; nil: none that can be read
  local packed = redis.call('HGET', plans, 'plan:' .. source)
  if not packed or string.byte(packed) ~= 0x96 then return nil end -- an array of six
  local ok, plan = pcall(cmsgpack.unpack, packed)
  if not ok or type(plan[1]) ~= 'number' or type(plan[2]) ~= 'string' or type(plan[3]) ~= 'string' then return nil end
  if plan[1] % 1 ~= 0 or plan[1] < 0 or plan[1] > 9e15 then return nil end -- not a number that can be counted on
  return type(plan[4]) == 'number' and type(plan[6]) == 'table' and plan or nil
end

local function holds(source, generation)
  local plan = plan_of(source)
  return plan ~= nil and plan[1] == tonumber(generation)
end
