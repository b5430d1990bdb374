// JSON as Clojure's data.json writes it, and a reader that keeps what JSON.parse loses: 1.0 is not 1, and integers
// have any size. An integer is a number, or a BigInt where a number would not hold it; a double that has no fraction is
// a Double. Keys of a map keep their order, but for those that look like integers: JavaScript puts them first.

export class Double {
  constructor(value) { this.value = value }
}

export function read(text) {
  let at = 0
  const fail = () => { throw new SyntaxError(`not JSON at ${at}: ${text.slice(at, at + 20)}`) }
  const match = (pattern) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at = pattern.lastIndex
    return found?.[0]
  }
  const blanks = () => match(/[ \t\r\n]*/y)
  const next = (sign) => { blanks(); return text[at] === sign && ++at }
  const string = () => JSON.parse(match(/"(?:[^"\\]|\\.)*"/y) ?? fail())
  const list = (end, one) => {
    const found = []
    if (next(end)) return found
    do found.push(one()); while (next(','))
    return next(end) ? found : fail()
  }
  const pair = () => {
    blanks()
    const key = string()
    return next(':') ? [key, value()] : fail()
  }
  const value = () => {
    if (next('{')) return Object.fromEntries(list('}', pair))
    if (next('[')) return list(']', value)
    if (text[at] === '"') return string()
    const word = match(/true|false|null|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y) ?? fail()
    return /^[tfn]/.test(word) ? JSON.parse(word) : number(word)
  }
  const found = value()
  blanks()
  return at === text.length ? found : fail()
}

function number(word) {
  const value = Number(word)
  if (/[.eE]/.test(word)) return Number.isInteger(value) ? new Double(value) : value
  return Number.isSafeInteger(value) ? value : BigInt(word)
}

export function write(value) {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return string(value)
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number') return double(value)
  if (value instanceof Double) return double(value.value)
  if (Array.isArray(value)) return `[${value.map(write).join()}]`
  return `{${Object.entries(value).map(([key, inner]) => `${string(key)}:${write(inner)}`).join()}}`
}

const string = (text) => JSON.stringify(text)
  .replaceAll('/', '\\/')
  .replace(/[\u0080-\uffff]/g, (unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0'))

// As Java prints it: plain from 1e-3 up to 1e7, else d.dddE±n.
function double(value) {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not JSON`)
  const size = Math.abs(value)
  if (Object.is(value, -0)) return '-0.0'
  if (size === 0 || (size >= 1e-3 && size < 1e7)) return Number.isInteger(value) ? value.toFixed(1) : String(value)
  const exponential = value.toExponential()
  const two = value.toExponential(1) // of two digits Java takes those nearest to the value: 4.9E-324
  const [digits, exponent] = (/^-?\d+e/.test(exponential) && Number(two) === value ? two : exponential).split('e')
  return `${digits.includes('.') ? digits : digits + '.0'}E${Number(exponent)}`
}
