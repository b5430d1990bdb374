-- tidy: remove one thing that cannot be read, if it is still as the caller read it; or only set its score to 0 ('due').
-- KEYS any_key(key)
-- ARGV kind what value
--      kind: hash | zset | due; what: a field or a member; value: the value or score that the caller read
-- ->   1 | 0 (it is gone, or differs now)
-- part: tidy
return tidy(kind, what, value)
