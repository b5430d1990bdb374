// A peer in Node, written from spec/ alone, without any library: node peer.mjs PORT
// JSON lines on stdin and stdout; interop/README.md says which.

import { createInterface } from 'node:readline'
import { nextRun, parse } from './cron.mjs'
import { functions } from './jobs.mjs'
import { read, write } from './json.mjs'
import { add, turn } from './layout.mjs'
import { Redis } from './resp.mjs'

const PAUSE_MS = 50
const port = Number(process.argv[2])
const redis = new Redis(port)
const listening = new Map() // schedule -> { end, ended }
let crashPoint

const say = (record) => process.stdout.write(write(record) + '\n')
const mayCrash = (point) => point === crashPoint && process.kill(process.pid, 'SIGKILL')
const known = functions(say)
const left = new Map() // schedule -> items that are for others

function step(connection, { schedule, order }) {
  if (!left.has(schedule)) left.set(schedule, new Set())
  return turn(connection, { schedule, order, left: left.get(schedule) }, known, { say, mayCrash })
}

async function listen(place, state) {
  const own = new Redis(port)
  while (!state.end) {
    if (await step(own, place)) continue
    // By chance, lest another that looks as often is always the first; and looking past 5,000 items takes a while.
    const pause = PAUSE_MS * (0.5 + Math.random()) + left.get(place.schedule).size / 10
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  own.close()
}

const commands = {
  add: (command) => add(redis, command, mayCrash),
  listen(command) {
    const state = { end: false }
    state.ended = listen(command, state).catch((error) => say({ broke: String(error) }))
    listening.set(command.schedule, state)
    return { listening: true }
  },
  async stop({ schedule }) {
    const state = listening.get(schedule)
    if (state) state.end = true
    await state?.ended
    return { stopped: listening.delete(schedule) }
  },
  async drain(command) {
    let drained = 0
    while (await step(redis, command)) drained++
    return { drained }
  },
  crash_at: ({ point }) => ({ armed: (crashPoint = point) }),
  next: ({ cron, order, from }) => ({ next: nextRun(parse(cron, order), from) }),
}

say({ peer: 'node', orders: ['published', 'clojure'], points: ['after-hsetnx', 'after-pop', 'after-run'], traits: [] })
for await (const line of createInterface({ input: process.stdin })) {
  const command = read(line)
  try {
    say({ ...(await commands[command.do](command)), n: command.n })
  } catch (error) {
    say({ error: String(error), n: command.n })
  }
}
process.exit()
