/** One text's schema and answer: which fields are asked for, under which names, and what belongs into them. */
import { rng } from './random.js'
import { joinList, shuffle } from './text.js'
import { chance, pick } from './values.js'

export function styled(name, style) {
  const words = name.replace(/'s/g, '').split(/[ -]/)
  if (style === 0) return words.join('_')
  if (style === 1)
    return (
      words[0] +
      words
        .slice(1)
        .map((w) => w[0].toUpperCase() + w.slice(1))
        .join('')
    )
  if (style === 2) return words.join('-')
  return name
}

const sentence = (note) =>
  pick([note, note, note[0].toUpperCase() + note.slice(1), `${note[0].toUpperCase() + note.slice(1)}.`])

/** One field: its schema, its value in the answer. `null` where the pair cannot be asked for. */
export function makeField(slot, filled, present, mode) {
  const { type } = slot
  const note = chance(0.55) ? sentence(pick(slot.notes)) : undefined
  const described = (schema) => (note ? { ...schema, description: note } : schema)
  if (type === 'list') {
    if (present)
      return { schema: described({ type: 'array', items: { type: 'string' } }), value: filled.value, kind: 'array' }
    return mode === 'null' || !chance(0.6)
      ? null
      : { schema: described({ type: 'array', items: { type: 'string' } }), value: [], kind: 'absent' }
  }
  let schema = { type: 'string' }
  let value = filled.value
  let kind = filled.kind
  if (type === 'enum')
    schema = { ...(chance(0.6) ? { type: 'string' } : {}), enum: shuffle(slot.args.map((a) => a.value)) }
  else if (type === 'bool') schema = { type: 'boolean' }
  else if (filled.number) {
    if (chance(0.82) || type === 'int') {
      const whole = type === 'int' || type === 'year'
      schema = { type: whole && chance(0.8) ? 'integer' : 'number' }
      value = { raw: filled.raw ?? String(filled.value) }
    } else value = filled.text
  } else if (filled.iso && chance(0.35)) {
    schema = chance(0.6) ? { type: 'string', format: 'date' } : schema
    value = filled.iso
    kind = 'iso date'
    return finish({
      ...schema,
      description: `${note ?? pick(slot.notes)}${schema.format ? '' : pick([' (YYYY-MM-DD)', ', as YYYY-MM-DD', ', ISO format'])}`,
    })
  }
  if (filled.kind === 'number' && type === 'year' && typeof value === 'number') value = filled.text
  return finish(described(schema))

  function finish(base) {
    if (mode === 'null') {
      const nullable = base.enum
        ? { ...base, type: undefined, enum: [...base.enum, null] }
        : { ...base, type: [base.type, 'null'] }
      if (base.enum) delete nullable.type
      return { schema: nullable, value: present ? value : null, kind: present ? kind : 'absent' }
    }
    if (present) return { schema: base, value, kind }
    if (mode === 'optional') return { schema: base, value: undefined, kind: 'absent' }
    return type === 'bool' && chance(0.5) ? { schema: base, value: false, kind: 'absent' } : null
  }
}

export const INSTRUCTIONS = [
  'Extract the data from the text.',
  'Extract the fields from the message.',
  'You extract structured data from text.',
  'Read the text and fill in the fields.',
  'Extract the {domain} details.',
  'You are a helpful assistant.',
  'You are an assistant that extracts information about a {domain}. Answer only with JSON.',
  'Find the following information in the text.',
  'Return the {domain} as JSON.',
  'Extract {names} from the text.',
  'Pull out {names}.',
  'Your task: read the user message and return {names}.',
  'Copy the values exactly as they stand in the text.',
  'Extract the {domain}. Use null for what is not mentioned.',
  'Parse this {domain}.',
  'Information extraction. Do not invent anything.',
]

export function answerOf(fields) {
  const mark = (v) =>
    v !== null && typeof v === 'object' && !Array.isArray(v) && 'raw' in v ? v.raw : JSON.stringify(v)
  const kept = fields.filter((f) => f.inside || f.value !== undefined)
  const open = fields.some((f) => f.optional)
  const body = kept.map((f, i) => {
    const end = i === kept.length - 1 ? '}' : ','
    if (f.inside) return `${JSON.stringify(f.name)}:${answerOf(f.inside)}${end}`
    const key = `${open ? '\u0001' : ''}${JSON.stringify(f.name)}${open ? '\u0002' : ''}:`
    const loose = typeof f.value === 'object' && f.value !== null && 'raw' in f.value
    return `${key}\u0001${mark(f.value)}${loose || open ? `${end}\u0002` : `\u0002${end}`}`
  })
  return `{${body.join('')}${kept.length === 0 ? '\u0001}\u0002' : ''}`
}

export function makeExample(domain, made, split, dense) {
  const names = Object.keys(domain.slots)
  const present = shuffle(names.filter((n) => made.covered.has(n)))
  const absent = shuffle(names.filter((n) => !made.covered.has(n)))
  const chosen = shuffle([
    ...present.slice(0, dense ? 8 : rng.int(1, Math.min(7, present.length))),
    ...(chance(0.4) ? absent.slice(0, rng.int(1, 2)) : []),
  ])
  const style = pick([0, 0, 0, 1, 1, 2, 3])
  const used = new Set()
  const fields = []
  const nullMode = chance(0.6)
  const prefixed = domain.name !== 'nonce' && chance(split === 'train' ? 0.06 : 0)
  for (const n of chosen) {
    const slot = domain.slots[n]
    const has = made.covered.has(n)
    const mode = !has || chance(0.15) ? (nullMode ? 'null' : 'optional') : 'plain'
    const field = makeField(slot, made.values[n], has, mode)
    // The second name of a field is kept for evaluation.
    const last = slot.names.length > 3 ? 1 : -1
    const usable =
      split === 'fields' && last === 1 ? [slot.names[1]] : slot.names.filter((_, i) => split !== 'train' || i !== last)
    const bare = pick(usable)
    // Many schemas put the thing before its part: order_number, invoiceDate.
    const name = styled(prefixed && !bare.includes(' ') && bare.length < 12 ? `${domain.name} ${bare}` : bare, style)
    if (field === null || used.has(name)) continue
    used.add(name)
    fields.push({ ...field, name, optional: mode === 'optional' })
  }
  if (fields.length === 0) return null
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map((f) => [f.name, f.schema])),
    required: fields.filter((f) => !f.optional).map((f) => f.name),
    additionalProperties: false,
  }
  const spoken = joinList(fields.map((f) => `the ${f.name.replace(/[_-]/g, ' ')}`))
  const instruction = chance(dense ? 0.6 : 0.2)
    ? ''
    : pick(INSTRUCTIONS)
        .replace('{domain}', domain.name === 'nonce' ? 'record' : domain.name)
        .replace('{names}', spoken)
  return { schema, fields, instruction }
}
