import type { Grammar } from './grammar.js'
import { Vocabulary } from './tokens/vocabulary.js'

const END = 256
let bytes: Vocabulary | undefined

/** Every byte a token: the grammar's own letters. */
function letters(): Vocabulary {
  bytes ??= new Vocabulary([...Array.from({ length: END }, (_, byte) => Uint8Array.of(byte)), undefined], { eos: END })
  return bytes
}

export interface ExampleOptions {
  /**
   * The same seed gives the same text.
   * @default 0
   */
  readonly seed?: number
  /**
   * How many bytes more than the shortest text it may have.
   * @default 100
   */
  readonly more?: number
}

/** A random text of a grammar, chosen letter by letter. */
export function example(grammar: Grammar, { seed = 0, more = 100 }: ExampleOptions = {}): string {
  const vocabulary = letters()
  const random = randomness(seed)
  const constraint = grammar.start(vocabulary)
  const mask = new Uint32Array(vocabulary.words)
  const text: number[] = []
  for (let left = constraint.shortest + Math.floor(random() * (more + 1)); left > 0 && !constraint.done; left--) {
    constraint.closing(left)
    constraint.mask(mask)
    const byte = pick(mask, random)
    if (byte === END || !constraint.accept(byte)) break
    text.push(byte)
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(text))
}

/** Letters, digits and marks of JSON before others, so that what comes out can be read. */
function pick(mask: Uint32Array, random: () => number): number {
  const weights: [number, number][] = []
  let sum = 0
  for (let byte = 0; byte <= END; byte++) {
    if (((mask[byte >> 5]! >>> (byte & 31)) & 1) === 0) continue
    sum += weightOf(byte)
    weights.push([byte, sum])
  }
  const at = random() * sum
  return weights.find(([, upTo]) => at < upTo)?.[0] ?? weights.at(-1)?.[0] ?? END
}

function weightOf(byte: number): number {
  if (byte >= 0x61 && byte <= 0x7a) return 20
  if (byte === 0x22 || byte === 0x2c) return 60
  if (byte === 0x5c || byte < 0x20 || (byte > 0x7e && byte < END)) return 0.02
  return byte === 0x20 || (byte >= 0x30 && byte <= 0x39) ? 8 : 4
}

/** mulberry32. */
function randomness(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
