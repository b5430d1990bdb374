// The published layout, from spec/layouts/native.md section 2 and spec/job.md: how a peer adds, and how it takes.

import { createHash } from 'node:crypto'
import { nextRun, once, parse } from './cron.mjs'
import { nameIn } from './jobs.mjs'
import { read, write } from './json.mjs'

const PAGE = 1000

// Take an item, if it still stands there with the score that was read: for good, or until its next run.
const TAKE = `
  if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
  if ARGV[3] == '' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
  return 1`

const floor = (ms) => ms - (ms % 1000)

export async function add(redis, { schedule, order, fn, args, when }, mayCrash) {
  const now = Date.now()
  const at = when === 'now' ? now : when.at
  const cron = at === undefined ? when.cron : once(at, order)
  const due = when === 'now' ? now : nextRun(parse(cron, order), floor(at ?? now + 999) - 1)
  if (due === null) throw new Error(`${cron} never comes`)
  const payload = write({ args, cron, job: `#'${fn}` }) // keys in order
  const id = createHash('sha1').update(payload).digest('hex')
  if ((await redis.call('HSETNX', `${schedule}:jobs`, id, payload)) === 0) return { added: id, new: false, due: null }
  mayCrash('after-hsetnx')
  await redis.call('ZADD', `${schedule}:next`, due, `{"id":"${id}"}`)
  return { added: id, new: true, due }
}

// What is due and can be run here: the first of it. The rest is looked at once, and left where it stands, for those who
// can; `left` holds those items. A payload never changes, so neither does the answer.
async function find(redis, { schedule, order, left }, functions) {
  for (let start = 0; ; start += PAGE) {
    const due = ['-inf', Date.now(), 'WITHSCORES', 'LIMIT', start, PAGE]
    const found = await redis.call('ZRANGEBYSCORE', `${schedule}:next`, ...due)
    if (found.length === 0) {
      if (start === 0) left.clear()
      return undefined
    }
    for (let i = 0; i < found.length; i += 2) {
      const [item, score] = [found[i], found[i + 1]]
      if (left.has(item)) continue
      const id = idIn(item)
      const payload = await redis.call('HGET', `${schedule}:jobs`, id)
      if (payload === null) continue // over by now, or lost
      const job = understood(payload, order, functions)
      if (job) return { ...job, id, item, score }
      left.add(item)
    }
  }
}

function idIn(item) {
  try {
    return read(item).id ?? ''
  } catch {
    return ''
  }
}

function understood(payload, order, functions) {
  try {
    const { job, args, cron } = read(payload)
    const run = functions[nameIn(job)]
    return run && { run, args: args ?? [], cron: parse(cron, order) }
  } catch {
    return undefined // it cannot be read
  }
}

// Do what is due first; whether anything was.
export async function turn(redis, place, functions, { say, mayCrash }) {
  const { schedule } = place
  const job = await find(redis, place, functions)
  if (!job) return false
  const due = Number(job.score)
  const again = nextRun(job.cron, Math.max(due, Date.now()))
  const taken = await redis.call('EVAL', TAKE, 1, `${schedule}:next`, job.item, job.score, again ?? '')
  if (!taken) return true // another was faster
  mayCrash('after-pop')
  try {
    await job.run({ schedule, id: job.id, due }, ...job.args)
  } catch (error) {
    say({ failed: String(error), schedule, id: job.id, due })
  }
  mayCrash('after-run')
  if (again === null) await redis.call('HDEL', `${schedule}:jobs`, job.id)
  return true
}
