-- range: the members of S:slots and S:waiting that belong to a key begin with the key and \0.
local function under(key) return '[' .. key .. '\0', '(' .. key .. '\1' end
