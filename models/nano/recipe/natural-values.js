/** Another value of the same form: `3 March 2025` becomes another day so written, `$1,240.50` another amount. */
import { rng } from './random.js'
import { chance, draw, heldOutValue, pick } from './values.js'

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  )
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const two = (n) => String(n).padStart(2, '0')
const th = (d) => (d > 3 && d < 21 ? 'th' : (['th', 'st', 'nd', 'rd'][d % 10] ?? 'th'))

/** The number that a text says: digits with separators, or a word up to ninety-nine. Undefined where it says none. */
export function numberIn(text) {
  const digits = text.match(/-?\d[\d,' ]*(?:\.\d+)?/)
  if (digits) {
    const european = text.match(/\d{1,3}(?:\.\d{3})*,\d{2}(?!\d)/)
    if (european)
      return european[0]
        .replaceAll('.', '')
        .replace(',', '.')
        .replace(/^0+(?=\d)/, '')
    const raw = digits[0].replace(/[,' ]/g, '').replace(/^(-?)0+(?=\d)/, '$1')
    return /k$/i.test(text.trim()) && /\dk/i.test(text) ? String(Math.round(Number(raw) * 1000)) : raw
  }
  for (const word of text.toLowerCase().split(/[^a-z-]+/)) {
    if (SMALL.includes(word)) return String(SMALL.indexOf(word))
    const [ten, one] = word.split('-')
    if (TENS.includes(ten) && (one === undefined || SMALL.indexOf(one) > 0))
      return String(20 + 10 * TENS.indexOf(ten) + (one ? SMALL.indexOf(one) : 0))
    if (word === 'dozen') return '12'
    if (word === 'hundred') return '100'
    if (word === 'once') return '1'
    if (word === 'twice') return '2'
  }
  return undefined
}

function numberLike(text, range) {
  const word = text.toLowerCase()
  if (range) {
    const [low, high] = range.split('-').map(Number)
    const n = rng.int(low, high)
    if (SMALL.includes(word)) return asWord(n, text)
    return text.replace(/\d[\d,]*(\.\d+)?/, (old) => {
      const cents = old.includes('.') ? `.${old.split('.')[1].replace(/\d/g, () => rng.int(0, 9))}` : ''
      return (old.includes(',') || (n >= 10000 && chance(0.5)) ? n.toLocaleString('en-US') : String(n)) + cents
    })
  }
  if (SMALL.includes(word)) return asWord(rng.int(2, 12), text)
  let begun = false
  return text.replace(/\d/g, (old) => {
    const digit = old === '0' && !begun ? 0 : begun ? rng.int(0, 9) : rng.int(2, 9)
    if (old !== '0' || begun) begun = true
    return digit
  })
}

function asWord(n, like) {
  const word = n <= 20 ? SMALL[n] : String(n)
  return /^[A-Z]/.test(like) ? word[0].toUpperCase() + word.slice(1) : word
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const codeLike = (text) =>
  text
    .replace(/\d/g, () => rng.int(0, 9))
    .replace(/[A-Z]/g, () => LETTERS[rng.int(0, LETTERS.length - 1)])
    .replace(/(?<![a-z])[a-f](?=\d)|(?<=\d)[a-f](?![a-z])/g, () => 'abcdef'[rng.int(0, 5)])

/** Written dates: a pattern, its parts in order, and how the same is written of another day. */
const DATES = [
  [/^(\d{4})-(\d\d)-(\d\d)$/, 'ymd', (y, m, d) => `${y}-${two(m)}-${two(d)}`],
  [/^(\d{4})\/(\d\d)\/(\d\d)$/, 'ymd', (y, m, d) => `${y}/${two(m)}/${two(d)}`],
  [/^(\d{1,2})\.(\d{1,2})\.(\d{4})$/, 'dmy', (y, m, d) => `${d}.${m}.${y}`],
  [/^(\d\d)\/(\d\d)\/(\d{4})$/, 'dmy', (y, m, d) => `${two(d)}/${two(m)}/${y}`],
  [/^(\d{1,2}) ([A-Z][a-z]{3,}) (\d{4})$/, 'dMy', (y, m, d) => `${d} ${MONTHS[m - 1]} ${y}`],
  [/^(\d{1,2}) ([A-Z][a-z]{2}) (\d{4})$/, 'dMy', (y, m, d) => `${d} ${MONTHS[m - 1].slice(0, 3)} ${y}`],
  [/^([A-Z][a-z]{3,}) (\d{1,2}), (\d{4})$/, 'Mdy', (y, m, d) => `${MONTHS[m - 1]} ${d}, ${y}`],
  [/^([A-Z][a-z]{2}) (\d{1,2}), (\d{4})$/, 'Mdy', (y, m, d) => `${MONTHS[m - 1].slice(0, 3)} ${d}, ${y}`],
  [/^([A-Z][a-z]+) (\d{1,2})(?:st|nd|rd|th),? (\d{4})$/, 'Mdy', (y, m, d) => `${MONTHS[m - 1]} ${d}${th(d)}, ${y}`],
  [/^(\d{1,2})(?:st|nd|rd|th) ([A-Z][a-z]+) (\d{4})$/, 'dMy', (y, m, d) => `${d}${th(d)} ${MONTHS[m - 1]} ${y}`],
  [
    /^([A-Z][a-z]+day) (\d{1,2}) ([A-Z][a-z]+) (\d{4})$/,
    'wdMy',
    (y, m, d) => `${weekday(y, m, d)} ${d} ${MONTHS[m - 1]} ${y}`,
  ],
  [
    /^([A-Z][a-z]+day), ([A-Z][a-z]+) (\d{1,2}), (\d{4})$/,
    'wMdy',
    (y, m, d) => `${weekday(y, m, d)}, ${MONTHS[m - 1]} ${d}, ${y}`,
  ],
  [/^(\d{1,2}) ([A-Z][a-z]{3,})$/, 'dM', (_, m, d) => `${d} ${MONTHS[m - 1]}`],
  [/^(\d{1,2}) ([A-Z][a-z]{2})$/, 'dM', (_, m, d) => `${d} ${MONTHS[m - 1].slice(0, 3)}`],
  [/^([A-Z][a-z]{3,}) (\d{1,2})$/, 'Md', (_, m, d) => `${MONTHS[m - 1]} ${d}`],
  [/^([A-Z][a-z]{2}) (\d{1,2})$/, 'Md', (_, m, d) => `${MONTHS[m - 1].slice(0, 3)} ${d}`],
  [/^(\d{1,2})(?:st|nd|rd|th) (?:of )?([A-Z][a-z]+)$/, 'dM', (_, m, d) => `${d}${th(d)} of ${MONTHS[m - 1]}`],
  [/^the (\d{1,2})(?:st|nd|rd|th)$/, 'd', (_, _m, d) => `the ${d}${th(d)}`],
  [/^([A-Z][a-z]+) (\d{1,2})(?:st|nd|rd|th)$/, 'Md', (_, m, d) => `${MONTHS[m - 1]} ${d}${th(d)}`],
  [/^([A-Z][a-z]+day),? (\d{1,2}) ([A-Z][a-z]+)$/, 'wdM', (y, m, d) => `${weekday(y, m, d)} ${d} ${MONTHS[m - 1]}`],
  [/^([A-Z][a-z]+day), ([A-Z][a-z]+) (\d{1,2})$/, 'wMd', (y, m, d) => `${weekday(y, m, d)}, ${MONTHS[m - 1]} ${d}`],
  [/^(\d\d)\/(\d\d)$/, 'dm', (_, m, d) => `${two(d)}/${two(m)}`],
  [/^(\d{1,2})\.(\d{1,2})\.$/, 'dm', (_, m, d) => `${d}.${m}.`],
  [/^([A-Z][a-z]+) (\d{4})$/, 'My', (y, m) => `${MONTHS[m - 1]} ${y}`],
]
const weekday = (y, m, d) => DAYS[(new Date(Date.UTC(y, m - 1, d)).getUTCDay() + 6) % 7]

/** A day written like `text`; `year` where the text leaves it to its surroundings. `iso` where all three are known. */
export function dateLike(text, keep, year) {
  const found = DATES.find(([pattern]) => pattern.test(text))
  if (!found) throw new Error(`no date that can be exchanged: ${text}`)
  const [pattern, order, write] = found
  const parts = text.match(pattern)
  let [y, m, d] = [year ? Number(year) : rng.int(2015, 2031), rng.int(1, 12), rng.int(1, 28)]
  if (keep) {
    ;[...order].forEach((part, i) => {
      const said = parts[i + 1]
      if (part === 'y') y = Number(said)
      if (part === 'm') m = Number(said)
      if (part === 'd') d = Number(said)
      if (part === 'M') m = MONTHS.findIndex((name) => name.startsWith(said.slice(0, 3))) + 1
    })
  }
  const known = (order.includes('y') || year) && order.includes('d') && /m/i.test(order)
  return { text: keep ? text : write(y, m, d), iso: known ? `${y}-${two(m)}-${two(d)}` : undefined }
}

function timeLike(text) {
  const minutes = /:[03]0/.test(text) ? pick(['00', '15', '30', '45']) : two(rng.int(0, 59))
  if (/[ap]\.?m/i.test(text)) {
    const half = /[ap]\.m/.test(text)
      ? pick(['a.m.', 'p.m.'])
      : /[AP]M/.test(text)
        ? pick(['AM', 'PM'])
        : pick(['am', 'pm'])
    return text.replace(
      /\d{1,2}(:\d\d)?( ?)[ap]\.?m\.?/i,
      (_, m, space) => `${rng.int(1, 12)}${m ? `:${minutes}` : ''}${space}${half}`,
    )
  }
  const [hour, rest] = text.split(':')
  if (rest === undefined) return text.replace(/\d+/, () => String(rng.int(1, 12)))
  const h = hour.length === 2 ? two(rng.int(0, 23)) : String(rng.int(7, 23))
  return `${h}:${minutes}${rest.slice(2).replace(/\d\d/g, () => two(rng.int(0, 59)))}`
}

/** `2:30 pm` as `14:30`. */
export function clockOf(text) {
  const said = text.match(/(\d{1,2})(?:[:.](\d\d))?\s*([ap])?/i)
  if (text === 'noon' || text === 'midday') return '12:00'
  if (text === 'midnight') return '00:00'
  if (!said) return undefined
  let hour = Number(said[1]) % 24
  if (said[3]) hour = (hour % 12) + (said[3].toLowerCase() === 'p' ? 12 : 0)
  return `${two(hour)}:${said[2] ?? '00'}`
}

const stampLike = (text) =>
  text
    .replace(/\d{4}-\d\d-\d\d/, () => dateLike('2025-01-01').text)
    .replace(/\d\d:\d\d(:\d\d)?/, (old) => timeLike(old.replace(/:[03]0/, ':17')))

/** What may stand in the place of `text`. */
export function exchange(type, argument, text) {
  const keep = chance(0.12)
  if (type === 'date') return dateLike(text, keep, argument)
  if (keep && type !== '') return { text }
  if (type === '#') return { text: numberLike(text, argument) }
  if (type === '@') return { text: codeLike(text) }
  if (type === 'time') return { text: timeLike(text) }
  if (type === 'stamp') return { text: stampLike(text) }
  if (type === 'weekday') return { text: pick(DAYS) }
  for (let i = 0; ; i++) {
    const value = draw(type, argument ? argument.split('-') : [])
    if (i > 30 || !heldOutValue(value.text)) return { text: value.text }
  }
}
