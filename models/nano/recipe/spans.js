/**
 * A schema as queries, one a leaf, and where a text answers them: what the encoder is trained on and asked.
 * A query: `{ path, type, note, options?, list?, nullable }`; `path` are the names down to the leaf, `[]` for each item.
 */
import { clockOf, dateLike, numberIn } from './natural-values.js'

export const points = (text) => [...text].length

/** The leaves of a schema; what it says of `null`, of enums, references and unions of one with `null` is followed. */
export function queriesOf(schema, root = schema, path = [], outer = {}) {
  const { plain, nullable } = resolved(schema, root)
  const at = {
    list: outer.list,
    nullable: nullable || outer.nullable,
    note: plain.description ?? schema.description ?? '',
  }
  if (plain.enum || 'const' in plain) {
    const options = (plain.enum ?? [plain.const]).filter((o) => o !== null)
    return [{ path, ...at, type: 'choice', options, nullable: at.nullable || (plain.enum ?? []).includes(null) }]
  }
  if (plain.properties)
    return Object.entries(plain.properties).flatMap(([name, inner]) =>
      queriesOf(inner, root, [...path, name], {
        list: outer.list,
        nullable: outer.nullable || nullable || !(plain.required ?? []).includes(name),
      }),
    )
  if (plain.type === 'array')
    return queriesOf(plain.items ?? {}, root, [...path, '[]'], { list: true }).map((q) => ({
      ...q,
      note: q.note || (at.note && q.path.at(-1) === '[]' ? at.note : ''),
    }))
  if (plain.type === 'boolean') return [{ path, ...at, type: 'choice', options: [true, false] }]
  const type =
    plain.type === 'integer' || plain.type === 'number'
      ? plain.type
      : plain.format === 'date' || /YYYY-MM-DD|ISO/.test(at.note)
        ? 'date'
        : plain.format === 'time' || /HH:MM|24[ -]h/.test(at.note)
          ? 'time'
          : 'text'
  return [{ path, ...at, type }]
}

function resolved(schema, root) {
  let plain = schema
  let nullable = false
  for (let i = 0; i < 8; i++) {
    if (plain.$ref)
      plain = plain.$ref
        .slice(2)
        .split('/')
        .reduce((at, key) => at[key], root)
    else if (plain.anyOf ?? plain.oneOf) {
      const all = plain.anyOf ?? plain.oneOf
      nullable ||= all.some((s) => s.type === 'null')
      plain = all.find((s) => s.type !== 'null') ?? {}
    } else if (Array.isArray(plain.type)) {
      nullable ||= plain.type.includes('null')
      plain = { ...plain, type: plain.type.find((t) => t !== 'null') }
    } else break
  }
  return { plain, nullable }
}

/** A query in the words of the answer's JSON, up to where its value would begin: `the day it is due "invoice":{"due":"`. */
export function askedAs(query) {
  const keys = query.path.map((part) => (part === '[]' ? '[' : `${JSON.stringify(part)}:`))
  const json = keys.reduce((all, key) => all + (all === '' || key === '[' ? '' : '{') + key, '')
  const bare = query.type === 'number' || query.type === 'integer' || query.options?.[0] === true
  return `${query.note ? `${query.note} ` : ''}${json}${bare ? '' : '"'}`
}

export const optionAs = String

/** All that stands at a path in an answer: one value, or those of each item. */
export function valuesAt(value, path) {
  if (path.length === 0) return [value]
  if (value === undefined || value === null) return [undefined]
  const [name, ...rest] = path
  if (name === '[]') return value.flatMap((item) => valuesAt(item, rest))
  return valuesAt(value[name], rest)
}

/** What a stretch of text is for a query: itself, or what the reader of numbers, dates and times makes of it. */
export function read(type, said, year) {
  if (type === 'number' || type === 'integer') {
    const raw = numberIn(said)
    return raw === undefined ? undefined : Number(raw)
  }
  if (type === 'date') {
    try {
      return dateLike(said, true, year).iso
    } catch {
      return undefined
    }
  }
  if (type === 'time') return clockOf(said)
  return said
}

/** Decisions as queries: each a field `answer` with its question as description. */
export function decisionExample({ text, questions }) {
  const queries = questions.map(({ question, options, right }) => {
    const ask = askedAs({ path: ['answer'], note: question, options })
    return { ask, list: false, nullable: false, options, option: right }
  })
  return { text, queries }
}

const plainOf = (value) => (value !== null && typeof value === 'object' && 'raw' in value ? Number(value.raw) : value)
const NUMBER =
  /(?<![\p{L}\d.,])\d[\d,']*(?:\.\d+)?k?(?![\p{L}\d])|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty(?:-\w+)?|thirty(?:-\w+)?|forty(?:-\w+)?|fifty(?:-\w+)?)\b/giu

/** Stretches that a value may be copied from: marked places first, for they are meant; else wherever it stands. */
function standsAt(text, places, type, value) {
  const marked = places.filter((p) => p.iso === value || p.said === value || read(type, p.said) === value)
  if (marked.length > 0) return marked.map(({ start, end }) => narrowed(text, type, start, end))
  if (typeof value === 'number')
    return [...text.matchAll(NUMBER)]
      .filter((m) => Number(numberIn(m[0])) === value)
      .map((m) => [m.index, m.index + m[0].length])
  if (typeof value !== 'string' || value === '') return []
  const found = []
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const whole = !/[\p{L}\d]/u.test((text[at - 1] ?? ' ') + (text[at + value.length] ?? ' '))
    if (whole) found.push([at, at + value.length])
  }
  return found
}

/** Of a number's stretch the number alone. */
function narrowed(text, type, start, end) {
  if (type !== 'number' && type !== 'integer') return [start, end]
  const inside = text.slice(start, end).match(/\d[\d,']*(?:\.\d+)?k?/)
  return inside ? [start + inside.index, start + inside.index + inside[0].length] : [start, end]
}

/**
 * An example of the encoder: `{ text, queries: [{ ask, options?, list?, nullable, spans? , option? }] }`. A query without
 * `spans` and `option` is read but not learnt from: its value stands nowhere in the text.
 */
export function spanExample({ text, schema, value, places = [] }) {
  const queries = queriesOf(JSON.parse(JSON.stringify(schema))).map((query) => {
    const values = valuesAt(value, query.path).map(plainOf)
    const made = { ask: askedAs(query), list: query.list === true, nullable: query.nullable === true }
    if (query.options) {
      made.options = query.options.map(optionAs)
      if (!query.list)
        made.option = values[0] === undefined || values[0] === null ? -1 : query.options.indexOf(values[0])
      return made
    }
    const said = values.filter((v) => v !== undefined && v !== null)
    const stretches = said.map((v) => standsAt(text, places, query.type, v))
    if (stretches.some((s) => s.length === 0)) return made
    const point = (at) => points(text.slice(0, at))
    made.spans = stretches.map((s) => s.map(([start, end]) => [point(start), point(end)]))
    return made
  })
  return { text, queries }
}
