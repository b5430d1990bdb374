-- leave: end the registration of a listener. What it held goes back: that is no crash.
-- KEYS listeners running(listener) progress(listener)
-- ARGV me
-- ->   1 it was registered | 0
redis.call('DEL', running, progress)
return redis.call('ZREM', listeners, me)
