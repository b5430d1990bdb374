-- rivals: the Go pools that bury later jobs of names that they do not serve.
-- ARGV prefix
-- part: listed
local function note_rival(id, job_names, mine, found) -- add each of my names that a Go pool of this id does not serve
  local missing = {}
  for _, pair in ipairs(mine) do
    if not lists(job_names, pair[1]) then missing[#missing + 1] = pair[1] end
  end
  if #missing > 0 and redis.call('EXISTS', prefix .. 'workkit:pool:' .. id) == 0 then
    for _, name in ipairs(missing) do found[#found + 1] = name end
  end
end
