-- entry: read due times and entries that any program may have written. A due time that is no finite number is 0. One beyond
-- 9e15 is 9e15. A text that is no entry has no parts: the listener that claims it buries its bytes. And of a payload, its batch.
local function is_due(text)
  return string.find(text, '^%-?%d+%.?%d*$') or string.find(text, '^%-?%d+%.?%d*e[-+]?%d+$') or string.find(text, '^%-?inf$')
end

local function due_of(text)
  local ms = is_due(text) and tonumber(text) or 0
  if ms == math.huge or ms == -math.huge then return 0 end
  return math.max(-9e15, math.min(9e15, math.floor(ms))) + 0 -- -0 is 0
end

local function due_text(text) return string.format('%.0f', due_of(text)) end

local function parts_of(text) -- kind, due, attempt, crashes, flags, item; nil where it is no entry
  local kind, due, attempt, crashes, flags, item = string.match(text, '^([ro]) (%S+) (%d+) (%d+) (%S+) (.*)$')
  if not kind or #attempt > 9 or #crashes > 9 or not is_due(due) or not string.find(flags, '^[!-~]+$') then return nil end
  return kind, due, attempt, crashes, flags, item
end

local function occurrence_of(id, due, flags) -- the name of an occurrence; it ends with the nonce of the flags
  return id .. '@' .. due_text(due) .. (string.match(flags, '#.*$') or '')
end

local function unquoted(text)
  return (string.gsub(text, '%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
end

local function batch_in(payload) -- nil: none
  local ok, read = pcall(cjson.decode, string.find(payload, '"batch"', 1, true) and payload or '{}')
  return ok and type(read) == 'table' and type(read.batch) == 'string' and string.match(read.batch, '^[-%d]+ (.+)$') or nil
end
