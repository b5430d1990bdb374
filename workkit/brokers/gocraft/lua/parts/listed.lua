-- listed: the names in a heartbeat. They are joined by commas, and a name may have commas itself.
local function lists(names, name)
  return string.find(',' .. names .. ',', ',' .. name .. ',', 1, true) ~= nil
end
