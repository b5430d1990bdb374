// Cron strings of seven fields, in UTC: spec/cron.md, without its extensions.

const NAMES = {
  published: ['year', 'month', 'day', 'weekday', 'hour', 'minute', 'second'],
  clojure: ['second', 'minute', 'hour', 'month', 'day', 'weekday', 'year'], // section 5.3
}
const BOUNDS = {
  year: [1970, 9999], month: [1, 12], day: [1, 31], weekday: [0, 6], hour: [0, 23], minute: [0, 59], second: [0, 59],
}
const DAY_MS = 86_400_000

export function parse(text, order = 'published') {
  const texts = text.trim().split(/[ \t]+/)
  if (texts.length !== 7) throw new RangeError(`cron "${text}" has ${texts.length} fields, not 7`)
  const cron = {}
  NAMES[order].forEach((name, place) => {
    const bounds = order === 'clojure' && name === 'year' ? [1970, 2099] : BOUNDS[name]
    const items = texts[place].split(',').map((item) => read(name, item, bounds, order))
    cron[name] = { items, open: /^[*?]$/.test(texts[place]) } // open: as a day field it restricts nothing
  })
  return cron
}

function read(name, text, [low, high], order) {
  const refuse = () => { throw new RangeError(`cron: cannot read "${text}" as ${name}`) }
  const found = /^(?:(\*|\?)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(text) ?? refuse()
  const [, star, first, last, step] = found
  if (star === '?' && (step || !/day/.test(name))) refuse()
  const [from, to] = star ? [low, high] : [Number(first), Number(last ?? first)]
  const item = { from, to, step: Number(step ?? 1), nth: 1 }
  if (item.step < 1 || item.from < low || item.from > item.to || item.to > high) refuse()
  if (!star && !last && item.step > 1) {
    if (name === 'year' || order === 'clojure') refuse()
    item.nth = item.step // v/n: every nth occurrence of v since 1970
    item.step = 1
  }
  return item
}

// How often `value` has come round since 1970, the time at hand included.
function occurrence(name, value, ms) {
  const at = new Date(ms)
  const months = (at.getUTCFullYear() - 1970) * 12 + at.getUTCMonth() + 1
  switch (name) {
    case 'second': return Math.floor(ms / 60_000) + 1
    case 'minute': return Math.floor(ms / 3_600_000) + 1
    case 'hour': return Math.floor(ms / DAY_MS) + 1
    case 'weekday': return Math.floor((Math.floor(ms / DAY_MS) - ((value + 3) % 7)) / 7) + 1 // day 0 was a Thursday
    case 'month': return at.getUTCFullYear() - 1969
  }
  let seen = 0
  for (let month = 0; month < months; month++) if (value <= lengthOf(1970, month)) seen++
  return seen
}

const lengthOf = (year, month) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

const fits = (cron, name, value, ms) => cron[name].items.some(({ from, to, step, nth }) =>
  from <= value && value <= to && (value - from) % step === 0 && (nth === 1 || occurrence(name, value, ms) % nth === 0))

function dayFits(cron, day, ms) {
  const restricted = ['day', 'weekday'].filter((name) => !cron[name].open)
  const values = { day, weekday: new Date(ms).getUTCDay() }
  return restricted.length === 0 || restricted.some((name) => fits(cron, name, values[name], ms)) // either is enough
}

// The first match strictly after `ms`, or null.
export function nextRun(cron, ms) {
  const start = (Math.floor(ms / 1000) + 1) * 1000
  const parts = (name, from, length, low = 0, high = 59) =>
    Array.from({ length: high - low + 1 }, (_, i) => [low + i, from + i * length])
      .filter(([value, at]) => at + length > start && fits(cron, name, value, at))
  for (let year = new Date(start).getUTCFullYear(); year <= 9999; year++) {
    if (!fits(cron, 'year', year)) continue
    for (let month = 0; month < 12; month++) {
      const first = Date.UTC(year, month, 1)
      const days = lengthOf(year, month)
      if (first + days * DAY_MS <= start || !fits(cron, 'month', month + 1, first)) continue
      for (let day = 1, at = first; day <= days; day++, at += DAY_MS) {
        if (at + DAY_MS <= start || !dayFits(cron, day, at)) continue
        for (const [, hour] of parts('hour', at, 3_600_000, 0, 23))
          for (const [, minute] of parts('minute', hour, 60_000))
            for (const [, second] of parts('second', minute, 1000)) return second
      }
    }
  }
  return null
}

// The text that names one second and no other.
export function once(ms, order = 'published') {
  const at = new Date(ms)
  const values = {
    year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate(),
    weekday: order === 'clojure' ? '?' : '*',
    hour: at.getUTCHours(), minute: at.getUTCMinutes(), second: at.getUTCSeconds(),
  }
  return NAMES[order].map((name) => values[name]).join(' ')
}
