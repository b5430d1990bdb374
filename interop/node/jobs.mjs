// The functions that jobs may call, by the names under which they are stored. Names are looked up, never evaluated.

const tried = new Set()

export function functions(say) {
  const announce = (name) => (run, ...args) => say({ ran: name, args, ...run, at: Date.now() })
  const note = (name) => announce(`peers.jobs/${name}`)
  return {
    'peers.jobs/note': note('note'),
    'peers.jobs/take-note': note('take-note'),
    'peers.jobs/count!': note('count!'),
    "peers.jobs/note'": note("note'"),
    'peers.jobs/slow': async (run, ms, ...args) => {
      note('slow')(run, ms, ...args)
      await new Promise((resolve) => setTimeout(resolve, ms))
    },
    'peers.jobs/fail': (run, ...args) => {
      note('fail')(run, ...args)
      throw new Error('as it was asked to')
    },
    'peers.jobs/flaky': (run, ...args) => {
      note('flaky')(run, ...args)
      const key = String(args)
      const isFirst = !tried.has(key)
      tried.add(key)
      if (isFirst) throw new Error('the first time it fails')
    },
    'peers.node/only': announce('peers.node/only'),
  }
}

// The forms that stand for a name: spec/job.md, section 4.
const SYMBOL = String.raw`([^\s()]+)` // it is looked up, so whatever it holds does no harm
const FORMS = [
  `#'${SYMBOL}`,
  `'${SYMBOL}`,
  String.raw`\(\s*(?:var|quote)\s+${SYMBOL}\s*\)`,
  String.raw`\(\s*(?:clojure\.core/)?resolve\s+'${SYMBOL}\s*\)`,
  String.raw`\(\s*(?:clojure\.core/)?resolve\s+\(\s*quote\s+${SYMBOL}\s*\)\s*\)`,
].map((form) => new RegExp(`^${form}$`))

export function nameIn(job) {
  for (const form of FORMS) {
    const found = form.exec(job.trim())
    if (found) return found[1]
  }
  return undefined
}
