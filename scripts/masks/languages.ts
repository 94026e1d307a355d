/**
 * Small languages, each written twice: as a grammar of this package, and as the set of all its texts, found by trying
 * candidates one by one. Nothing of the engine is used to find them.
 */

import type { GrammarSource } from '../../src/contract/engine.js'
import { derives, type Plain, textsOf } from '../../src/grammar/rules/rules.test-helper.js'

export interface Language {
  readonly name: string
  readonly source: GrammarSource
  /** All texts; of an endless language those of at most `whole` bytes. */
  readonly texts: ReadonlySet<string>
  /** Texts of more bytes than this are not listed. */
  readonly whole: number
}

export type Random = () => number

function below(random: Random, n: number): number {
  return Math.floor(random() * n)
}

function pick<T>(random: Random, options: readonly T[]): T {
  return options[below(random, options.length)]!
}

const bytesOf = (text: string) => Buffer.byteLength(text)

/** No set of texts grows beyond this. */
const MOST_TEXTS = 6000

/** A random language of one of the kinds; undefined where it came out empty or too large. */
export function language(random: Random): Language | undefined {
  const kind = pick(random, ['schema', 'schema', 'schema', 'regex', 'gbnf', 'lark'] as const)
  return kind === 'schema' ? ofSchema(random) : kind === 'regex' ? ofRegex(random) : ofRules(random, kind)
}

/** JSON.stringify's spelling of all strings of at most so many of these characters. */
const LETTERS = ['a', 'b', '"', '\\', '\n', 'é', '😀']

function strings(most: number, letters: readonly string[]): string[] {
  const all = ['']
  for (let from = 0, length = 0; length < most; length++) {
    const end = all.length
    for (; from < end; from++) for (const letter of letters) all.push(all[from]! + letter)
  }
  return all
}

interface Described {
  readonly schema: object
  readonly texts: ReadonlySet<string>
  /** Items are compared by their texts: white space may not be left to the model. */
  readonly compared?: boolean
}

const SCALARS = [null, true, false, 0, 1, -1, 12, 1.5, '', 'a', 'ab', 'b"', 'é', 'name']

function ofSchema(random: Random): Language | undefined {
  const described = schema(random, 2)
  if (described === undefined || described.texts.size === 0) return undefined
  const whitespace = 1 + below(random, 2)
  const loose = random() < 0.3 && described.compared !== true ? loosened(described.texts, whitespace) : undefined
  const source = { schema: described.schema, ...(loose !== undefined && { layout: { whitespace } }) }
  return { name: JSON.stringify(source), source, texts: loose ?? described.texts, whole: Infinity }
}

const WORDS = /"(?:[^"\\]|\\.)*"|[^\s[\]{}:,"]+|[[\]{}:,]/g
const BLANKS = [' ', '\t', '\n', '\r']

/** The same with at most so much white space between any two words; undefined where they are too many. */
function loosened(texts: ReadonlySet<string>, most: number): ReadonlySet<string> | undefined {
  const between = strings(most, BLANKS)
  const all = new Set<string>()
  for (const text of texts) {
    let ways = ['']
    for (const [i, word] of (text.match(WORDS) ?? []).entries()) {
      ways = ways.flatMap((way) => (i === 0 ? [word] : between.map((blanks) => way + blanks + word)))
      if (all.size + ways.length > MOST_TEXTS) return undefined
    }
    for (const way of ways) all.add(way)
  }
  return all
}

function schema(random: Random, depth: number): Described | undefined {
  const kinds = [
    'enum',
    'integer',
    'string',
    'string',
    ...(depth > 0 ? ['array', 'object', 'object', 'any', 'tuple'] : []),
  ]
  const made = described(random, pick(random, kinds), depth)
  return made !== undefined && made.texts.size <= MOST_TEXTS ? made : undefined
}

function described(random: Random, kind: string, depth: number): Described | undefined {
  switch (kind) {
    case 'enum': {
      const values = Array.from({ length: 1 + below(random, 4) }, () => pick(random, SCALARS))
      return { schema: { enum: [...new Set(values)] }, texts: new Set(values.map((value) => JSON.stringify(value))) }
    }
    case 'integer': {
      const minimum = below(random, 30) - 15
      const maximum = minimum + below(random, 20)
      const step = pick(random, [1, 1, 2, 3])
      const texts = new Set<string>()
      for (let n = minimum; n <= maximum; n++) if (n % step === 0) texts.add(String(n))
      return { schema: { type: 'integer', minimum, maximum, ...(step > 1 && { multipleOf: step }) }, texts }
    }
    case 'string':
      return text(random)
    case 'any': {
      const options = Array.from({ length: 2 }, () => schema(random, depth - 1))
      if (options.some((option) => option === undefined)) return undefined
      const texts = new Set(options.flatMap((option) => [...option!.texts]))
      return { schema: { anyOf: options.map((option) => option!.schema) }, texts, compared: isCompared(options) }
    }
    case 'tuple': {
      const items = Array.from({ length: 1 + below(random, 2) }, () => schema(random, depth - 1))
      if (items.some((item) => item === undefined)) return undefined
      const least = below(random, items.length + 1)
      const texts = new Set<string>(least === 0 ? ['[]'] : [])
      for (let n = Math.max(1, least); n <= items.length; n++) {
        const rows = products(items.slice(0, n))
        if (rows === undefined) return undefined
        for (const row of rows) texts.add(`[${row.join(',')}]`)
      }
      const prefixItems = items.map((item) => item!.schema)
      return {
        schema: { type: 'array', prefixItems, items: false, minItems: least },
        texts,
        compared: isCompared(items),
      }
    }
    case 'array': {
      const item = schema(random, depth - 1)
      if (item === undefined || item.texts.size > 60) return undefined
      const kind = uniqueAs(item)
      const unique = kind !== undefined && random() < 0.5
      const least = below(random, unique && kind === 'compared' ? 2 : 3)
      const most = Math.max(least, 1 + below(random, unique && item.texts.size <= 12 ? 3 : 2))
      const texts = new Set<string>(least === 0 ? ['[]'] : [])
      for (let n = Math.max(1, least); n <= most; n++) {
        const rows = products(new Array(n).fill(item))
        if (rows === undefined) return undefined
        for (const row of rows) {
          if (!unique || new Set(row).size === row.length) texts.add(`[${row.join(',')}]`)
        }
      }
      const limits = { minItems: least, maxItems: most }
      const made = { type: 'array', items: item.schema, ...limits, ...(unique && { uniqueItems: true }) }
      return { schema: made, texts, compared: isCompared([item]) || (unique && kind === 'compared') }
    }
    default:
      return object(random, depth)
  }
}

const isCompared = (parts: readonly (Described | undefined)[]) => parts.some((part) => part?.compared === true)

/** How such items can be unique: numbered, as texts or compared (of which not more than one is demanded); undefined where they cannot be. */
function uniqueAs({ schema, compared }: Described): 'listed' | 'text' | 'compared' | undefined {
  const { type, patternProperties } = schema as { type?: string; patternProperties?: object }
  if ('enum' in schema) return 'listed'
  if (type === 'string') return 'text'
  return type === 'integer' || (type === 'object' && patternProperties === undefined && !compared)
    ? 'compared'
    : undefined
}

function text(random: Random): Described | undefined {
  const letters = LETTERS.filter(() => random() < 0.6)
  if (letters.length === 0) return undefined
  const most = 1 + below(random, letters.length > 4 ? 2 : 3)
  const least = below(random, most + 1)
  const inner = letters.map((letter) => ({ '"': '"', '\\': '\\\\', '\n': '\\n' })[letter] ?? letter).join('')
  const words = () => {
    const all = strings(most, letters)
    const some = Array.from({ length: 2 + below(random, 3) }, () => pick(random, all))
    return some.map((word) => word.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')).join('|')
  }
  const patterns = [
    `^[${inner}]*$`,
    `^(?:${words()})$`,
    `^[${inner}]{${least},${most}}$`,
    `^(?:[${inner}]a?)*$`,
    `^a?[${inner}]*$`,
  ]
  const pattern = pick(random, patterns)
  const tried = new RegExp(pattern, 'u')
  const texts = new Set<string>()
  for (const value of strings(most, [...new Set([...letters, 'a'])])) {
    const characters = [...value].length
    if (characters >= least && tried.test(value)) texts.add(JSON.stringify(value))
  }
  return { schema: { type: 'string', pattern, minLength: least, maxLength: most }, texts }
}

const KEYS = ['a', 'ab', 'b', 'na', 'é', 'a"']

/** Declared properties come in their order, then those by a pattern, in any. */
function object(random: Random, depth: number): Described | undefined {
  const names = KEYS.filter(() => random() < 0.45)
  const properties: Record<string, Described & { readonly required: boolean }> = Object.create(null)
  for (const name of names) {
    const value = schema(random, depth - 1)
    if (value === undefined || value.texts.size > 40) return undefined
    properties[name] = { ...value, required: random() < 0.5 }
  }
  const others =
    random() < 0.4 ? [...new Set(Array.from({ length: 1 + below(random, 3) }, () => pick(random, OTHERS)))] : []
  // Those of one pattern are nothing, those of the other 1.
  const valueBehind = (key: string) => (other.test(key) ? 1 : null)
  const other = random() < 0.5 ? /^x/ : /^$/
  const least = random() < 0.4 ? below(random, 4) : 0
  let members: string[][] = [[]]
  for (const [name, { texts, required }] of Object.entries(properties)) {
    const own = [...texts].map((text) => `${JSON.stringify(name)}:${text}`)
    members = members.flatMap((row) => [...(required ? [] : [row]), ...own.map((member) => [...row, member])])
    if (members.length > MOST_TEXTS) return undefined
  }
  let all = members
  for (let n = 1; n <= others.length; n++) {
    const orders = arrangements(others, n).map((keys) =>
      keys.map((key) => `${JSON.stringify(key)}:${valueBehind(key)}`),
    )
    all = [...all, ...members.flatMap((row) => orders.map((extra) => [...row, ...extra]))]
    if (all.length > MOST_TEXTS) return undefined
  }
  const texts = all.filter((row) => row.length >= least).map((row) => `{${row.join(',')}}`)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, value.schema])),
      required: names.filter((name) => properties[name]!.required),
      ...(others.length > 0 && { patternProperties: patternsOf(others, valueBehind) }),
      additionalProperties: false,
      minProperties: least,
      maxProperties: names.length + others.length,
    },
    texts: new Set(texts),
    compared: isCompared(Object.values(properties)),
  }
}

const OTHERS = ['x', 'ax', 'xx', '"', '""', 'ü']

function patternsOf(keys: readonly string[], valueBehind: (key: string) => unknown): object {
  const keysByValue = new Map<unknown, string[]>()
  for (const key of keys) keysByValue.set(valueBehind(key), [...(keysByValue.get(valueBehind(key)) ?? []), key])
  return Object.fromEntries([...keysByValue].map(([value, some]) => [`^(?:${some.join('|')})$`, { const: value }]))
}

/** Every row of so many of them, each once. */
export function arrangements(keys: readonly string[], n: number): string[][] {
  if (n === 0) return [[]]
  return keys.flatMap((key) =>
    arrangements(
      keys.filter((other) => other !== key),
      n - 1,
    ).map((rest) => [key, ...rest]),
  )
}

function products(parts: readonly (Described | undefined)[]): string[][] | undefined {
  let all: string[][] = [[]]
  for (const part of parts) {
    all = all.flatMap((row) => [...part!.texts].map((text) => [...row, text]))
    if (all.length > MOST_TEXTS) return undefined
  }
  return all
}

/** Texts of so many letters are tried, and those of rules one by one by a chart. */
const MOST_TRIED = 8
const MOST_DERIVED = 5

function ofRegex(random: Random): Language | undefined {
  const source = expression(random, 3)
  const letters = 'ab"é'
  const whole = new RegExp(`^(?:${source})$`, 'u')
  const texts = new Set(strings(MOST_TRIED - 2, [...letters]).filter((text) => whole.test(text)))
  return texts.size === 0 || texts.size > MOST_TEXTS
    ? undefined
    : { name: `/${source}/`, source: { regex: source }, texts, whole: MOST_TRIED - 2 }
}

function expression(random: Random, depth: number): string {
  const inner = () => expression(random, depth - 1)
  if (depth === 0) return pick(random, ['a', 'b', '[ab]', '"', 'é', '[a"]', '[abé"]'])
  const made = [
    () => inner() + inner(),
    () => `(?:${inner()}|${inner()})`,
    () => `(?:${inner()})${pick(random, ['?', '*', '+', '{1,2}', '{2}', '{0,3}', '{2,}'])}`,
    () => `(?!${expression(random, 0)})${inner()}`,
    inner,
  ]
  return pick(random, made)()
}

/** The same rules as GBNF or Lark has them, and plainly. */
function ofRules(random: Random, kind: 'gbnf' | 'lark'): Language | undefined {
  const names = ['p', 'q', 'r'].slice(0, 1 + below(random, 3))
  const rules: Record<string, Plain> = {}
  const lines: string[] = []
  for (const name of names) {
    const options = Array.from({ length: 1 + below(random, 3) }, () => {
      const parts = Array.from({ length: 1 + below(random, 3) }, (): Plain => {
        return random() < 0.4 ? { rule: pick(random, names) } : pick(random, ['a', 'b', 'ab', '"a', 'bé'])
      })
      return { all: parts }
    })
    // Each has a way that leads to an end.
    rules[name] = { any: [...options, pick(random, ['a', 'b', 'ba'])] }
    const written = (rules[name] as { any: Plain[] }).any.map(writtenAs)
    lines.push(kind === 'gbnf' ? `${name} ::= ${written.join(' | ')}` : `${name}: ${written.join(' | ')}`)
  }
  const start = kind === 'gbnf' ? `root ::= ${names[0]}` : `start: ${names[0]}`
  const grammar = [start, ...lines].join('\n')
  const texts = new Set(textsOf('ab"é', MOST_DERIVED - 1).filter((text) => derives(rules, names[0]!, text)))
  const source = kind === 'gbnf' ? { gbnf: grammar } : { lark: grammar }
  return texts.size === 0 ? undefined : { name: grammar, source, texts, whole: MOST_DERIVED - 1 }
}

function writtenAs(plain: Plain): string {
  if (typeof plain === 'string') return JSON.stringify(plain)
  if (plain instanceof RegExp || 'any' in plain) throw new Error('not in these rules')
  return 'rule' in plain ? plain.rule : plain.all.map(writtenAs).join(' ')
}

/** What is known of a beginning: whether it is a text, and how much must still come. */
export interface Begun {
  text: boolean
  /** The fewest bytes. */
  bytes: number
  /** The fewest tokens. */
  tokens: number
}

/** All beginnings of the texts, as bytes of one character each. */
export function beginnings(language: Language, words: ReadonlySet<string>, longest: number): Map<string, Begun> {
  const all = new Map<string, Begun>()
  for (const text of language.texts) {
    const bytes = Buffer.from(text).toString('latin1')
    if (language.whole < Infinity && bytesOf(text) > language.whole) continue
    const tokens = new Array<number>(bytes.length + 1).fill(0)
    for (let i = bytes.length - 1; i >= 0; i--) {
      let least = Infinity
      for (let n = 1; n <= longest && i + n <= bytes.length; n++) {
        if (words.has(bytes.slice(i, i + n))) least = Math.min(least, 1 + tokens[i + n]!)
      }
      tokens[i] = least
    }
    for (let i = 0; i <= bytes.length; i++) {
      const begun = bytes.slice(0, i)
      const known = all.get(begun)
      if (known === undefined) all.set(begun, { text: i === bytes.length, bytes: bytes.length - i, tokens: tokens[i]! })
      else {
        known.text ||= i === bytes.length
        known.bytes = Math.min(known.bytes, bytes.length - i)
        known.tokens = Math.min(known.tokens, tokens[i]!)
      }
    }
  }
  return all
}
