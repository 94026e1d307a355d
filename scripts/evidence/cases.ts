/** Random schemas, and texts that write some of their values, in the forms in which people write them. */
import fc from 'fast-check'

export type Leaf = string | number | boolean | null

export interface EvidenceCase {
  readonly schema: Readonly<Record<string, unknown>>
  /** Of a system message, and of the parts of the user's. */
  readonly texts: readonly [string, ...string[]]
  /** Values that stand in one of the texts, with blanks around them. */
  readonly written: ReadonlySet<Leaf>
  readonly seed: number
  /** Strings are to be quotes of what the user says. */
  readonly quote?: boolean
}

const WORDS = [
  ...['open', 'opened', 'Open', 'the', 'the cat', 'Dr. Jane Doe', 'a', 'I', 'x1', '1', '12', 'INV-2041', 'desk lamps'],
  ...[
    'é',
    'e\u0301',
    'straße',
    'STRASSE',
    'Ünal',
    'ſo',
    '\u212a',
    'ı',
    'naïve',
    '日本',
    '日本語',
    'שלום עולם',
    'مرحبا',
  ],
  ...[
    '🎉',
    'so 🎉 it',
    '👨‍👩‍👧',
    'a\u200bb',
    'a\u00a0b',
    '"quoted"',
    "o'clock",
    'back\\slash',
    'a/b~c',
    '—',
    '',
    ' ',
    '$1',
    '(?:',
  ],
]
const NOISE = [
  ...[
    'and',
    'of',
    '7',
    '1,5',
    '3.',
    '2026',
    '-',
    ':',
    '(',
    ')',
    'March',
    '12',
    'cathedral',
    '\u200b',
    '\u200f',
    '\u202e',
  ],
  ...['ab', 'xopen', '1250.', ',', '.', '«', 'e', '\u0301', '\ufeff', 'Mai', '0'],
]
const MONTHS = [
  ['January', 'Jan', 'Januar', 'janvier', 'enero'],
  ['February', 'Feb', 'Februar', 'février', 'febrero'],
  ['March', 'Mar', 'März', 'mars', 'marzo'],
  ['April', 'Apr', 'April', 'avril', 'abril'],
  ['May', 'May', 'Mai', 'mai', 'mayo'],
  ['June', 'Jun', 'Juni', 'juin', 'junio'],
  ['July', 'Jul', 'Juli', 'juillet', 'julio'],
  ['August', 'Aug', 'August', 'août', 'agosto'],
  ['September', 'Sep', 'September', 'septembre', 'septiembre'],
  ['October', 'Oct', 'Oktober', 'octobre', 'octubre'],
  ['November', 'Nov', 'November', 'novembre', 'noviembre'],
  ['December', 'Dec', 'Dezember', 'décembre', 'diciembre'],
] as const

const words = fc.constantFrom(...WORDS)
const numbers = fc.oneof(
  fc.integer({ min: -20, max: 120 }),
  fc.integer({ min: 1000, max: 9_999_999 }),
  fc
    .tuple(fc.integer({ min: -3000, max: 3000 }), fc.integer({ min: 1, max: 2 }))
    .map(([n, places]) => n / 10 ** places),
)
const days = fc
  .tuple(fc.integer({ min: 1990, max: 2030 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
  .map(([y, m, d]) => `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`)

interface Form {
  readonly schema: Readonly<Record<string, unknown>>
  /** That it may take; of others nobody knows. */
  readonly values: readonly Leaf[]
}

const chosen = (values: fc.Arbitrary<Leaf>): fc.Arbitrary<Form> =>
  fc.uniqueArray(values, { minLength: 1, maxLength: 4 }).map((values) => ({ schema: { enum: values }, values }))

const leaves: fc.Arbitrary<Form> = fc.oneof(
  { weight: 4, arbitrary: chosen(words) },
  { weight: 4, arbitrary: chosen(numbers) },
  { weight: 3, arbitrary: chosen(days) },
  { weight: 1, arbitrary: chosen(fc.oneof(words, numbers, fc.constantFrom(true, false, null))) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Form>(
      { schema: { type: 'boolean' }, values: [true, false] },
      { schema: { type: ['boolean', 'null'] }, values: [null] },
      { schema: { type: 'integer', minimum: 0, maximum: 30 }, values: [7, 12] },
      { schema: { type: 'number', minimum: 0, maximum: 9 }, values: [] },
      { schema: { type: ['string', 'null'], maxLength: 3 }, values: [] },
      { schema: { type: 'string', pattern: '^[a-c1 ]{0,4}$' }, values: [] },
    ),
  },
)

const NAMES = ['a', 'b', 'total', 'a/b', '~', '', 'né', '0', '__proto__']

const { form: forms } = fc.letrec<{ form: Form; object: Form; list: Form }>((tie) => ({
  form: fc.oneof(
    { weight: 5, arbitrary: leaves },
    { weight: 1, arbitrary: tie('object') },
    { weight: 1, arbitrary: tie('list') },
  ),
  list: tie('form').map(({ schema, values }) => ({
    schema: { type: 'array', items: schema, maxItems: 3 },
    values,
  })),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('form'), fc.boolean()), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 4,
    })
    .map((fields) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(fields.map(([name, { schema }]) => [name, schema])),
        required: fields.filter(([, , required]) => required).map(([name]) => name),
        additionalProperties: false,
      },
      values: fields.flatMap(([, { values }]) => values),
    })),
}))

/** One way to write a value, `way` says which. */
export function writing(value: string | number, way: number): string {
  if (typeof value === 'number') return writtenNumber(value, way)
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(value) ?? []
  if (year !== undefined) return writtenDay(value, [year, month!, day!], way)
  const ways = [value, value.replaceAll(' ', '\n'), value.replaceAll(' ', ' \u00a0')]
  if (/^[\x20-\x7e]*$/.test(value)) ways.push(value.toUpperCase(), value.toLowerCase())
  return ways[way % ways.length]!
}

function writtenNumber(value: number, way: number): string {
  const sign = value < 0 ? ['-', '\u2212'][way % 2]! : ''
  const [whole = '', decimals] = Math.abs(value).toString().split('.')
  const [thousands, point] = [
    ['', '.'],
    [',', '.'],
    ['.', ','],
    ["'", '.'],
    ['\u202f', ','],
  ][way % 5]!
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thousands!)
  if (decimals !== undefined) return `${sign}${grouped}${point}${decimals}${'0'.repeat(way % 3)}`
  // Behind one mark three digits are thousands.
  return `${sign}${grouped}${way % 2 === 0 ? '' : `${point}00`}`
}

function writtenDay(iso: string, [year, month, day]: readonly [string, string, string], way: number): string {
  const name = MONTHS[Number(month) - 1]![way % 5]!
  const d = String(Number(day))
  const ways = [
    ...[iso, `${d} ${name} ${year}`, `${d} ${name}`, `${d}. ${name} ${year}`, `${name} ${d}, ${year}`, `${name} ${d}`],
    ...[
      `${day}/${month}/${year}`,
      `${day}.${month}.${year.slice(2)}`,
      `${month}/${day}/${year}`,
      `${d} ${name}, '${year.slice(2)}`,
    ],
  ]
  return ways[Math.floor(way / 5) % ways.length]!
}

const isWritten = (value: Leaf): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && /[\p{L}\p{N}]/u.test(value))

const textsOf = (values: readonly (string | number)[]): fc.Arbitrary<{ text: string; written: readonly Leaf[] }> => {
  const noise = fc.constantFrom(...NOISE, ...WORDS).map((text) => ({ text, written: [] as Leaf[] }))
  const planted = fc
    .tuple(fc.constantFrom(...(values.length > 0 ? values : [''])), fc.nat(200))
    .map(([value, way]) => ({ text: writing(value, way), written: value === '' ? [] : ([value] as Leaf[]) }))
  const piece = fc.oneof({ weight: 3, arbitrary: noise }, { weight: 2, arbitrary: planted })
  const between = fc.constantFrom(' ', '\n', '  ', ' \u200b ', '')
  return fc.array(fc.tuple(piece, between), { maxLength: 12 }).map((pieces) => {
    const alone = pieces.map(([, after], i) => after !== '' && (i === 0 || pieces[i - 1]![1] !== ''))
    // A year may come behind a day: then it is another one.
    const isOtherDay = (i: number) => /^[\s\u200b,-]*['\u2019]?\d/.test(joined(pieces.slice(i + 1)))
    const joined = (some: typeof pieces) => some.map(([{ text }, after]) => text + after).join('')
    return {
      text: joined(pieces),
      written: pieces.flatMap(([{ written }], i) =>
        written.filter((value) => alone[i] && !(/^\d{4}-\d\d-\d\d$/.test(String(value)) && isOtherDay(i))),
      ),
    }
  })
}

export const evidenceCases: fc.Arbitrary<EvidenceCase> = fc
  .tuple(forms, fc.nat(2 ** 31 - 1))
  .chain(([{ schema, values }, seed]) => {
    const known = values.filter(isWritten)
    return fc.array(textsOf(known), { minLength: 2, maxLength: 3 }).map((texts) => ({
      schema,
      texts: texts.map(({ text }) => text) as [string, ...string[]],
      written: new Set(texts.flatMap(({ written }) => written)),
      seed,
    }))
  })

const someQuotes: fc.Arbitrary<unknown> = fc.constantFrom(
  ...[{ type: 'string' }, { type: 'string' }, { type: ['string', 'null'] }],
  ...[
    { type: 'array', items: { type: 'string' }, maxItems: 3 },
    { type: ['string', 'null'], maxLength: 9 },
  ],
  ...[{ anyOf: [{ type: 'string' }, { type: 'integer', minimum: 0, maximum: 9 }] }, { enum: ['open', 'x1', null] }],
)

/** Objects of strings that are quotes, of texts in many scripts. */
export const quoteCases: fc.Arbitrary<EvidenceCase> = fc
  .record({
    fields: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), someQuotes), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 3,
    }),
    texts: fc.array(textsOf([]), { minLength: 2, maxLength: 3 }),
    seed: fc.nat(2 ** 31 - 1),
  })
  .map(({ fields, texts, seed }) => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(fields),
      required: fields.map(([name]) => name),
      additionalProperties: false,
    },
    texts: texts.map(({ text }) => text) as [string, ...string[]],
    written: new Set<Leaf>(),
    seed,
    quote: true,
  }))
