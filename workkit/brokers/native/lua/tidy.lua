-- tidy: remove one thing that cannot be read, if it is still as the caller read it; or only set its score to 0 ('due').
-- KEYS any_key(key)
-- ARGV kind what value
--      kind: hash | zset | stream | due; what: a field, a member or the number of an entry; value: the value or score that the
--      caller read
-- ->   1 | 0 (it is gone, or differs now)
-- part: tidy
if kind == 'stream' then return redis.call('XDEL', any_key, what) end
return tidy(kind, what, value)
