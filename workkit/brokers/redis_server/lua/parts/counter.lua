-- counter: add to a number in a hash. A value that is no number counts as 0.
local function add_to(hash, field, n)
  local sum = redis.pcall('HINCRBY', hash, field, n)
  if type(sum) == 'number' then return sum end
  redis.call('HSET', hash, field, n)
  return n
end
