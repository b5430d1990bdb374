package main

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// A script is Lua that the server runs in one step.
type script struct{ text, hash string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

// run sends the hash, and the whole text only if the server does not know it.
func (s script) run(on *server, keys []string, args ...interface{}) (reply, error) {
	rest := words(len(keys))
	for _, key := range keys {
		rest = append(rest, key)
	}
	rest = append(rest, args...)
	answer, err := on.do(append(words("EVALSHA", s.hash), rest...)...)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		answer, err = on.do(append(words("EVAL", s.text), rest...)...)
	}
	return answer, err
}

// KEYS: six for each job name: queue, in-progress list, paused, lock, lock_info, max_concurrency. ARGV: pool.
var fetchScript = newScript(`
for i = 1, #KEYS, 6 do
  local queue, running, paused, lock, info = KEYS[i], KEYS[i+1], KEYS[i+2], KEYS[i+3], KEYS[i+4]
  local limit = tonumber(redis.call('get', KEYS[i+5]))
  if redis.call('llen', queue) > 0 and not redis.call('get', paused) then
    local held = tonumber(redis.call('get', lock))
    if not limit or limit == 0 or not held or held < limit then
      redis.call('incr', lock)
      redis.call('hincrby', info, ARGV[1], 1)
      return {redis.call('rpoplpush', queue, running), queue, running}
    end
  end
end
return nil`)

// KEYS: sorted set, dead set, queues of the names that the pool serves. ARGV: prefix of queues, now.
var moveDueScript = newScript(`
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[2], 'LIMIT', 0, 1)
if #due == 0 then
  return nil
end
local job = cjson.decode(due[1])
redis.call('zrem', KEYS[1], due[1])
local queue = ARGV[1] .. job['name']
for i = 3, #KEYS do
  if KEYS[i] == queue then
    job['t'] = tonumber(ARGV[2])
    redis.call('lpush', queue, cjson.encode(job))
    return 'ok'
  end
end
job['err'] = 'unknown job when requeueing'
job['failed_at'] = tonumber(ARGV[2])
redis.call('zadd', KEYS[2], ARGV[2], cjson.encode(job))
return 'dead'`)

// KEYS: queue, unique key. ARGV: job text, value of the key.
var enqueueUniqueScript = newScript(`
if redis.call('set', KEYS[2], ARGV[2], 'NX', 'EX', 86400) then
  redis.call('lpush', KEYS[1], ARGV[1])
  return 'ok'
end
redis.call('set', KEYS[2], ARGV[2], 'EX', 86400)
return 'dup'`)

// KEYS: scheduled set, unique key. ARGV: job text, value of the key, due time.
var enqueueUniqueInScript = newScript(`
if redis.call('set', KEYS[2], ARGV[2], 'NX', 'EX', 86400) then
  redis.call('zadd', KEYS[1], ARGV[3], ARGV[1])
  return 'ok'
end
redis.call('set', KEYS[2], ARGV[2], 'EX', 86400)
return 'dup'`)

// KEYS: four for each job name of the dead pool: in-progress list, queue, lock, lock_info. ARGV: dead pool.
var requeueDeadScript = newScript(`
for i = 1, #KEYS, 4 do
  local text = redis.call('rpoplpush', KEYS[i], KEYS[i+1])
  if text then
    redis.call('decr', KEYS[i+2])
    redis.call('hincrby', KEYS[i+3], ARGV[1], -1)
    return {text, KEYS[i], KEYS[i+1]}
  end
end
return nil`)

// KEYS: lock and lock_info for each job name. ARGV: dead pool.
var staleLocksScript = newScript(`
for i = 1, #KEYS, 2 do
  local held = redis.call('hget', KEYS[i+1], ARGV[1])
  if held then
    local left = redis.call('decrby', KEYS[i], held)
    redis.call('hdel', KEYS[i+1], ARGV[1])
    if left < 0 then
      redis.call('set', KEYS[i], 0)
    end
  end
end
return nil`)

// KEYS: sorted set. ARGV: score, id.
var deleteOneScript = newScript(`
local count, text = 0, ''
for _, member in ipairs(redis.call('zrangebyscore', KEYS[1], ARGV[1], ARGV[1])) do
  if cjson.decode(member)['id'] == ARGV[2] then
    redis.call('zrem', KEYS[1], member)
    count, text = count + 1, member
  end
end
return {count, text}`)

const retryBody = `
  local job = cjson.decode(member)
  redis.call('zrem', KEYS[1], member)
  local queue, known = ARGV[1] .. job['name'], false
  for i = 2, #KEYS do
    known = known or KEYS[i] == queue
  end
  if known then
    job['t'] = tonumber(ARGV[2])
    job['fails'], job['failed_at'], job['err'] = nil, nil, nil
    redis.call('lpush', queue, cjson.encode(job))
    count = count + 1
  else
    job['err'] = 'unknown job when requeueing'
    job['failed_at'] = tonumber(ARGV[2])
    redis.call('zadd', KEYS[1], ARGV[2] + 5, cjson.encode(job))
  end
`

// KEYS: dead set, queues of all known names. ARGV: prefix of queues, now, score, id.
var retryOneScript = newScript(`
local count = 0
for _, member in ipairs(redis.call('zrangebyscore', KEYS[1], ARGV[3], ARGV[3])) do
  if cjson.decode(member)['id'] == ARGV[4] then` + retryBody + `
  end
end
return count`)

// KEYS: dead set, queues of all known names. ARGV: prefix of queues, now, most members.
var retryAllScript = newScript(`
local count = 0
for _, member in ipairs(redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])) do` + retryBody + `
end
return count`)
