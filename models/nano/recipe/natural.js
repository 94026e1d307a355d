/** Examples from the texts of `natural/`: each time with other values, another schema, other names for its fields. */
import { describeSchema } from '../../../src/generate/schema-prompt.ts'
import { INSTRUCTIONS, styled } from './fields.js'
import { clockOf, exchange, numberIn } from './natural-values.js'
import { rng } from './random.js'
import { joinList, PROSE, shuffle } from './text.js'
import { chance, pick } from './values.js'

/** Letters of nobody's text: they stand around a value until its place is known. */
const OPEN = '\uE000'
const CLOSE = '\uE001'

/** The text with drawn values, what each slot says in it, and where values stand. */
export function render(source) {
  const said = new Map()
  const order = []
  const write = (parts) => parts.map(one).join('')
  const one = (part) => {
    if (typeof part === 'string') return part
    if (part.choices) return write(pick(part.choices))
    if (part.again) {
      const value = said.get(part.again)
      if (!value) throw new Error(`{${part.again}} is said where it is not`)
      return marked(partOf(value.text, part.part), value)
    }
    const { id, type, argument, keyed, options } = part.slot
    const option = pick(options)
    const text = write(option.parts)
    const value = type === undefined ? { text } : exchange(type, argument, text)
    said.set(id, keyed ? { ...value, key: option.key } : value)
    return keyed ? value.text : marked(value.text, value)
  }
  const marked = (text, { iso }) => {
    order.push(iso)
    return `${OPEN}${String.fromCharCode(0xe100 + order.length - 1)}${text}${CLOSE}`
  }
  // What an empty choice leaves behind: two spaces, a space before a stop, an empty line.
  const text = write(source.text)
    .replace(/(?<! ) {2}(?! )/g, ' ')
    .replace(/ +([.,!?]?)$/gm, '$1')
    .replace(/(?<=[\w\uE001]) ([.,!?])(?=\s)/g, '$1')
    .replace(/\n{3,}/g, '\n\n')
  for (const value of said.values()) value.text = value.text.replace(/[\uE000-\uE8FF]/g, '')
  return { ...placed(text.trim(), order), said }
}

/** The text without its marks, and the stretches that were marked: `{ start, end, said, iso }`. */
function placed(text, order) {
  const places = []
  const open = []
  let plain = ''
  for (let i = 0; i < text.length; i++) {
    if (text[i] === OPEN) open.push({ start: plain.length, iso: order[text.charCodeAt(++i) - 0xe100] })
    else if (text[i] === CLOSE) places.push({ ...open.pop(), end: plain.length })
    else plain += text[i]
  }
  for (const place of places) place.said = plain.slice(place.start, place.end)
  return { text: plain, places }
}

function partOf(text, part) {
  if (part === undefined) return text
  const words = text.split(' ')
  if (part === 'first') return words[0]
  if (part === 'last') return words.at(-1)
  if (part === 'cap') return text[0].toUpperCase() + text.slice(1)
  if (part === 'low') return text.toLowerCase()
  throw new Error(`no part .${part}`)
}

/** The value of a field in this text; undefined where the text has none. */
export function meant({ type, value }, said) {
  if (value.list) {
    const list = value.list.map((item) => meant({ type, value: item }, said)).filter((v) => v !== undefined)
    return list.length > 0 ? [...new Map(list.map((v) => [JSON.stringify(v), v])).values()] : undefined
  }
  if (value.literal !== undefined) {
    if (value.literal === null) return undefined
    return typeof value.literal === 'number' ? { raw: String(value.literal) } : value.literal
  }
  const found = said.get(value.id)
  if (!found || found.key === null) return undefined
  if (typeof found.key === 'number') return { raw: String(found.key) }
  if (found.key !== undefined) return found.key
  const text = partOf(found.text, value.part)
  if (type === 'int' || type === 'num') return { raw: numberIn(text) }
  if (type === 'date') return found.iso
  if (type === 'time') return clockOf(text)
  return text
}

const nullable = (schema) =>
  schema.enum
    ? { ...schema, type: undefined, enum: [...schema.enum, null] }
    : { ...schema, type: [schema.type, 'null'] }

function typed(type, value, notes) {
  if (type === 'int')
    return chance(0.06)
      ? { type: 'integer', minimum: pick([0, 1]) }
      : chance(0.03)
        ? { type: 'integer', exclusiveMinimum: 0 }
        : { type: chance(0.85) ? 'integer' : 'number' }
  if (type === 'num') return chance(0.05) ? { type: 'number', minimum: 0 } : { type: 'number' }
  if (type === 'bool') return { type: 'boolean' }
  if (type === 'date') {
    if (chance(0.6)) return { type: 'string', format: 'date' }
    return {
      type: 'string',
      description: `${pick(notes.length ? notes : ['the date'])}${pick([' (YYYY-MM-DD)', ', as YYYY-MM-DD', ', ISO format', ' in ISO 8601'])}`,
    }
  }
  if (type === 'time')
    return {
      type: 'string',
      description: `${notes.length ? pick(notes) : pick(['time', 'the time'])}${pick([', 24 h', ' as HH:MM', ' (24-hour clock)'])}`,
    }
  if (type.includes('|')) {
    const all = type.split('|')
    // Without a value it is a column, in which each record may hold any of them.
    const some = value !== undefined && all.length > 3 && chance(0.3)
    const kept = some ? all.filter((option) => option === value || chance(0.7)) : all
    const options = kept.length > 1 ? kept : all
    return { ...(chance(0.6) ? { type: 'string' } : {}), enum: chance(0.5) ? options : shuffle(options) }
  }
  return { type: 'string' }
}

/** One of the names; `{id}` in it stands for what the text says there. */
function nameOf(names, style, said) {
  const known = names
    .map((name) => name.replace(/\{(\w+)\}/g, (slot, id) => said?.get(id)?.text.replace(/[^\p{L}\d ]/gu, '') || slot))
    .filter((name) => !name.includes('{'))
  const name = chance(0.45) ? known[0] : pick(known)
  return /[A-Z]/.test(name) ? name : styled(name.replaceAll('_', ' '), style)
}

function makeField(field, said, style) {
  const value = meant(field, said)
  const list = field.value.list !== undefined
  let schema = typed(field.type, value, field.notes)
  if (list) schema = { type: 'array', items: schema, ...(chance(0.04) ? { maxItems: rng.int(6, 20) } : {}) }
  if (!list && schema.type === 'string' && !schema.enum && /@.+\./.test(value ?? '') && chance(0.3))
    schema.format = 'email'
  if (field.notes.length > 0 && !schema.description && (field.always || chance(0.4))) {
    const note = pick(field.notes)
    schema = {
      ...schema,
      description: chance(0.5) ? note : note[0].toUpperCase() + note.slice(1) + (chance(0.3) ? '.' : ''),
    }
  }
  return { name: nameOf(field.names, style, said), schema, value: list ? (value ?? []) : value, list }
}

function makeRecords(field, said, style) {
  const columns = field.fields
    .map((column, i) => ({
      column,
      i,
      group: column.group,
      required: true,
      name: nameOf(column.names, style, said),
      schema: typed(column.type, undefined, []),
    }))
    .filter(() => field.fields.length < 3 || chance(0.8))
  const rows = field.records
    .map((row) => columns.map(({ column, i }) => meant({ type: column.type, value: row[i] }, said)))
    .filter((row) => row.some((value) => value !== undefined))
  if (columns.length === 0 || new Set(columns.map((c) => `${c.group} ${c.name}`)).size < columns.length)
    return undefined
  columns.forEach((column, at) => {
    if (rows.some((row) => row[at] === undefined)) column.schema = nullable(column.schema)
  })
  const items = objectOf(gathered(columns, style))
  const note = field.notes.length > 0 && chance(0.4) ? { description: pick(field.notes) } : {}
  return {
    name: nameOf(field.names, style, said),
    schema: { type: 'array', items, ...note },
    value: rows.map((row) =>
      filled(
        gathered(
          columns.map((c, at) => ({ ...c, value: row[at] ?? null })),
          style,
        ),
      ),
    ),
    list: true,
  }
}

function objectOf(fields) {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((f) => [f.name, f.schema])),
    required: fields.filter((f) => f.required).map((f) => f.name),
    additionalProperties: false,
  }
}

/** The answer's text; \u0001 and \u0002 stand around what the model decides. */
export function marked(schema, value) {
  if (Array.isArray(value)) {
    const items = value.map((item) => marked(schema.items ?? {}, item))
    return `[${items.join('\u0001,\u0002')}\u0001]\u0002`
  }
  if (value !== null && typeof value === 'object' && !('raw' in value)) {
    const required = new Set(schema.required)
    const open = Object.keys(schema.properties).some((name) => !required.has(name))
    const entries = Object.entries(value)
    if (entries.length === 0) return '{\u0001}\u0002'
    const body = entries.map(([name, inner], i) => {
      const end = i === entries.length - 1 ? '}' : ','
      const text = marked(schema.properties[name], inner)
      const key = open ? `\u0001${JSON.stringify(name)}\u0002:` : `${JSON.stringify(name)}:`
      const loose = open || (inner !== null && typeof inner === 'object' && 'raw' in inner)
      return `${key}${text}${loose ? `\u0001${end}\u0002` : end}`
    })
    return `{${body.join('')}`
  }
  const raw = value !== null && typeof value === 'object' ? value.raw : JSON.stringify(value)
  return `\u0001${raw}\u0002`
}

/** What one reader would ask of one text: fields, each with its schema and its value. */
function asked(source, said, dense) {
  const style = pick([0, 0, 0, 0, 1, 1, 1, 2, 3])
  const mode = pick(['null', 'null', 'optional'])
  const absent = chance(0.4) ? shuffle(source.absent).slice(0, rng.int(1, 2)) : []
  const own = chance(0.6) ? shuffle(source.fields) : source.fields
  const most = dense ? rng.int(2, 9) : rng.int(1, 8)
  const kept = new Set(shuffle(own).slice(0, most))
  const chosen = [...own.filter((field) => kept.has(field))]
  for (const field of absent) chosen.splice(rng.int(0, chosen.length), 0, field)
  const grouped = chance(0.5)
  const fields = []
  for (const field of chosen) {
    const made = field.records ? makeRecords(field, said, style) : makeField(field, said, style)
    if (!made) continue
    if (!made.list) {
      const missing = made.value === undefined
      if (missing && mode === 'null') Object.assign(made, { schema: nullable(made.schema), value: null })
      else if (!missing && mode === 'null' && chance(0.12)) made.schema = nullable(made.schema)
      made.required = !(mode === 'optional' && (missing || chance(0.15)))
    } else made.required = true
    if (field.group && grouped) made.group = field.group
    else if (field.group && !field.names[0].includes(field.group))
      made.name = styled(`${field.group} ${made.name}`.replaceAll(/[._-]/g, ' '), style)
    if (!fields.some((f) => f.name === made.name && f.group === made.group)) fields.push(made)
  }
  return gathered(fields, style)
}

/** Fields of one group become one object; a group inside another (`order.customer`) an object inside its object. */
function gathered(fields, style) {
  const made = []
  for (const field of fields) {
    if (!field.group) {
      made.push(field)
      continue
    }
    const [outer, ...inner] = field.group.split('.')
    const name = /[A-Z]/.test(outer) ? outer : styled(outer.replaceAll('_', ' '), style)
    let group = made.find((f) => f.name === name && f.inside)
    if (!group) {
      group = { name, required: true, inside: [] }
      made.push(group)
    }
    group.inside.push({ ...field, group: inner.join('.') })
  }
  const whole = made.map((f) => {
    if (!f.inside) return f
    const inside = gathered(f.inside, style)
    return { name: f.name, required: true, schema: objectOf(inside), value: filled(inside) }
  })
  return whole.filter((f, i) => whole.findIndex((other) => other.name === f.name) === i)
}

/** `parts`: the rendered texts in it, to know where their values stand. */
function written(schema, value, system, text, parts) {
  const user = surrounded(text)
  let from = 0
  const places = parts.flatMap((part) => {
    from = user.indexOf(part.text, from)
    const at = from
    from += part.text.length
    return part.places.map((p) => ({ ...p, start: p.start + at, end: p.end + at }))
  })
  return {
    system,
    described: describeSchema(JSON.parse(JSON.stringify(schema))),
    user,
    answer: marked(schema, value),
    asked: { text: user, schema, value, places },
  }
}

/** One text asked as one reader would. */
export function naturalExample(source, dense) {
  const { text, said, places } = render(source)
  const fields = asked(source, said, dense)
  if (fields.length === 0) return undefined
  const schema = objectOf(fields)
  if (schema.required.length < fields.length && fields.every((f) => f.value === undefined)) return undefined
  return written(schema, filled(fields), instruction(source, fields), text, [{ text, places }])
}

/** Two or three texts, one after the other, each asked in an object of its own: which of them a field means. */
export function naturalThread(sources, dense) {
  const parts = sources.map((source) => {
    const { text, said, places } = render(source)
    const fields = asked(source, said, dense).filter((f) => f.value !== undefined)
    const required = fields.map((f) => ({ ...f, required: true }))
    const name = source.kind
      .toLowerCase()
      .replace(/[^a-z0-9 ]/g, '')
      .split(' ')
      .filter((w) => !LITTLE.has(w))
      .slice(0, 3)
    return { text, places, name: name.join('_'), fields: required }
  })
  if (
    parts.some((p) => p.fields.length === 0 || p.name === '') ||
    new Set(parts.map((p) => p.name)).size < parts.length
  )
    return undefined
  const groups = (chance(0.5) ? shuffle(parts) : parts).filter((_, i) => i < 2 || chance(0.5))
  const fields = groups.map((p) => ({
    name: p.name,
    required: true,
    schema: objectOf(p.fields),
    value: filled(p.fields),
  }))
  const schema = objectOf(fields)
  const between = pick(['\n\n', '\n\n', '\n---\n', '\n\n***\n\n', '\n'])
  const system = chance(0.5)
    ? ''
    : pick(['Extract the data.', 'Return JSON.', 'Fill in the form.', 'Several notes follow.'])
  return written(schema, filled(fields), system, parts.map((p) => p.text).join(between), parts)
}

const LITTLE = new Set('a an the of to in at on for from by with and or as is who what it'.split(' '))

/** A text can stand in a list if it is short, in one piece, and says something of one thing. */
export const standsInList = (source) => {
  const { text } = render(source)
  return text.length < 200 && !text.includes('\n') && columnsOf(source).length > 1
}
const columnsOf = (source) =>
  source.fields.filter((f) => !f.records && !f.list && f.value.list === undefined && f.value.id !== undefined)

/** A short text said of several things, asked as a list of records. */
export function naturalList(source) {
  const columns = shuffle(columnsOf(source))
    .slice(0, rng.int(2, 4))
    .map((field) => {
      const schema = field.type.includes('|')
        ? { enum: field.type.split('|') }
        : typed(field.type, undefined, field.notes)
      return { field, name: nameOf(field.names, 0), schema, required: true }
    })
  if (new Set(columns.map((c) => c.name)).size < columns.length) return undefined
  const drawn = Array.from({ length: rng.int(1, 5) }, () => render(source))
  const rows = drawn.map(({ said }) => columns.map(({ field }) => meant(field, said)))
  columns.forEach((column, at) => {
    if (rows.some((row) => row[at] === undefined)) column.schema = nullable(column.schema)
  })
  const name = pick(['items', 'entries', 'records', 'rows', 'list', 'results', 'all', 'lines'])
  const note = chance(0.4) ? { description: pick(['all of them', 'every one in the text', 'one for each']) } : {}
  const list = {
    name,
    required: true,
    schema: { type: 'array', items: objectOf(columns), ...note },
    value: rows.map((row) => Object.fromEntries(columns.map((c, at) => [c.name, row[at] ?? null]))),
  }
  const mark = pick([() => '', () => '', () => '- ', (i) => `${i + 1}. `, (i) => `${i + 1}) `, () => '* '])
  const text = drawn.map((d, i) => mark(i) + d.text).join(chance(0.7) ? '\n' : mark(0) === '' ? ' ' : '\n')
  const system = chance(0.5)
    ? ''
    : pick(['Extract every entry.', 'Extract all of them.', 'List what is said.', 'Return JSON.'])
  return written(objectOf([list]), filled([list]), system, text, drawn)
}

const filled = (fields) => Object.fromEntries(fields.filter((f) => f.value !== undefined).map((f) => [f.name, f.value]))

const ASKED = [
  'Extract the {kind}.',
  'Extract structured data from this {kind}.',
  'You read a {kind} and fill in a form.',
  'Below is a {kind}. Return JSON.',
  'Extract the information as JSON. If something is not mentioned, use null.',
  'Extract the details from the text below.',
  'You are a data extraction engine.',
  'What does the text say? Answer in JSON.',
  'Fill in the form.',
  'parse this',
  'Return only JSON.',
]

function instruction(source, fields) {
  if (chance(0.4)) return ''
  const names = joinList(
    fields.map(
      (f) =>
        `the ${f.name
          .replace(/[_-]/g, ' ')
          .replace(/([a-z])([A-Z])/g, '$1 $2')
          .toLowerCase()}`,
    ),
  )
  return pick(chance(0.7) ? ASKED : INSTRUCTIONS)
    .replace('{kind}', source.kind)
    .replaceAll('{domain}', source.kind)
    .replace('{names}', names)
}

/** Now and then other people's prose stands around the text. */
function surrounded(text) {
  if (!chance(0.16)) return text
  const some = (n) => Array.from({ length: n }, () => pick(PROSE)).join(' ')
  const most = chance(0.25) ? 7 : 2
  const before = rng.int(0, most)
  const after = rng.int(before === 0 ? 1 : 0, most)
  return [before ? some(before) : '', text, after ? some(after) : ''].filter(Boolean).join(chance(0.5) ? '\n\n' : '\n')
}
