-- range: where the members of S:slots and S:waiting stand that belong to a key: they begin with it and \0.
local function under(key) return '[' .. key .. '\0', '(' .. key .. '\1' end
