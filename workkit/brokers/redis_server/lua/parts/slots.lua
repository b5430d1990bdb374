-- slots: the occurrences that have a slot of a limit key, and the open occurrences of a job (key `run:<id>`).
-- KEYS slots
-- part: range
local function count_slots(key) return redis.call('ZLEXCOUNT', slots, under(key)) end
local function take_slot(key, run) return redis.call('ZADD', slots, 0, key .. '\0' .. run) end -- 0: it has it already
local function drop_slot(key, run) redis.call('ZREM', slots, key .. '\0' .. run) end -- of a limit key: use `free_slot`
local function is_open(id) return count_slots('run:' .. id) > 0 end
