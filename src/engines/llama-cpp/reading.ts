/**
 * Which logits are read of llama.cpp, and what is drawn from them. It tells them as pairs of numbers in JavaScript: all of
 * a large vocabulary take twenty times as long as a few thousand, and longer than many a pass. So the greatest are read,
 * and it is proven that no other token could have been drawn; where that cannot be proven, all are.
 */
import { type Sampled, type SampleSettings, UNDRAWN } from '../../contract/index.js'
import { needsAll, type SampleRow, sampleRow, uncut } from '../../device/index.js'
import { sampleRowOf } from '../../models/index.js'
import type { LogitsRequest } from './library.js'

/** Read of a position: all, those that a mask allows, or the greatest. */
export type LogitsWanted =
  | { readonly kind: 'all' }
  | { readonly kind: 'allowed'; readonly tokens: readonly number[] }
  | { readonly kind: 'greatest'; readonly count: number }

export const ALL: LogitsWanted = { kind: 'all' }

/** Of these many tokens all are read: it takes no longer. */
const FEW_TOKENS = 8192
/** Masks that allow no more have just these read: llama.cpp compares each token with each of them. */
const FEW_ALLOWED = 64
/** The second time, when the greatest have not sufficed. */
const SOME_ALLOWED = 768
/** Where the greatest alone is drawn, or one of so few that it is no different. */
const GREEDY = 64
const FEW_KEPT = 128
/** By chance: as likely as no token in a million has to be known. */
const BY_CHANCE = 8192

export function readingOf(wanted: LogitsWanted): LogitsRequest {
  if (wanted.kind === 'all') return { logits: true, options: { temperature: 0 } }
  if (wanted.kind === 'allowed') return { logits: { filter: { tokens: wanted.tokens } }, options: { temperature: 0 } }
  return { logits: true, options: { temperature: 1, topK: wanted.count, topP: 1, minP: 0 } }
}

/** What is read first for these settings; `tokens`: of the vocabulary. */
export function firstReading(settings: SampleSettings, tokens: number): LogitsWanted {
  const row = sampleRowOf(settings, 0)
  if (needsAll(row)) return ALL
  const allowed = allowedBy(row.mask, FEW_ALLOWED, tokens)
  if (allowed) return { kind: 'allowed', tokens: allowed }
  if (tokens <= FEW_TOKENS || mayRaise(row)) return ALL
  const few = row.temperature === 0 || (row.topK ?? Number.POSITIVE_INFINITY) <= FEW_KEPT
  return { kind: 'greatest', count: few ? GREEDY : BY_CHANCE }
}

/** What is read when that did not suffice. */
export function secondReading({ mask }: SampleSettings, tokens: number): LogitsWanted {
  const allowed = allowedBy(mask, SOME_ALLOWED, tokens)
  return allowed ? { kind: 'allowed', tokens: allowed } : ALL
}

/** Whether some token may become likelier than the model has it. */
function mayRaise({ adjust, repeats }: SampleRow): boolean {
  return (repeats !== undefined && repeats.by < 1) || (adjust?.deltas.some((delta) => delta > 0) ?? false)
}

/** The tokens of a mask, where they are no more than `most`. */
function allowedBy(mask: Uint32Array | undefined, most: number, tokens: number): number[] | undefined {
  if (mask === undefined) return undefined
  const allowed: number[] = []
  for (let word = 0; word < mask.length; word++) {
    for (let bits = mask[word]!; bits !== 0; bits &= bits - 1) {
      const token = word * 32 + 31 - Math.clz32(bits & -bits)
      if (token >= tokens) break
      if (allowed.length === most) return undefined
      allowed.push(token)
    }
  }
  return allowed
}

/** Finite, and so far below all others that its probability is 0. */
const NEVER = -1e30

/** Draws from what was read, by the definition of sampling that our own core follows. */
export class Drawer {
  readonly #tokens: number
  readonly #logits: Float32Array
  readonly #scratch: Float32Array

  /** `tokens`: of the vocabulary. */
  constructor(tokens: number) {
    this.#tokens = tokens
    this.#logits = new Float32Array(tokens)
    this.#scratch = new Float32Array(tokens)
  }

  /** Undefined: what was read does not decide it. */
  draw(
    settings: SampleSettings,
    wanted: LogitsWanted,
    known: ReadonlyMap<number, number> | undefined,
  ): Sampled | undefined {
    if (known === undefined || known.size === 0) return { token: UNDRAWN }
    const row = sampleRowOf(settings, 0)
    if (wanted.kind !== 'greatest') {
      // What is missing among all is no number.
      return this.#with(row, known, wanted.kind === 'all' ? Number.NaN : NEVER)
    }
    let least = Number.POSITIVE_INFINITY
    for (const logit of known.values()) {
      if (!Number.isFinite(logit)) return { token: UNDRAWN }
      if (logit < least) least = logit
    }
    if (row.temperature === 0 && !row.repeats) return this.#greatest(row, known, least)
    // Whatever the others are, they lie between these two. With both the same token is drawn, which is then drawn with
    // all that lies between: raising one makes only itself likelier, and what is kept of the others can only grow.
    const most = this.#with(row, known, least)
    if (!known.has(most.token) || this.#with(row, known, NEVER).token !== most.token) return undefined
    // A token that was made less likely may have fallen below others that were not read: then it must win without floors.
    const open = uncut(row)
    if (open !== row && (row.adjust || row.repeats)) {
      if (this.#with(open, known, least).token !== most.token) return undefined
    }
    return most
  }

  /** The greatest that the mask allows, where it is above all that is not known. */
  #greatest({ mask, adjust }: SampleRow, known: ReadonlyMap<number, number>, least: number): Sampled | undefined {
    let [token, most] = [-1, least]
    const less = new Map<number, number>()
    adjust?.tokens.forEach((each, i) => {
      less.set(each, adjust.deltas[i]!)
    })
    for (const [each, raw] of known) {
      const logit = less.size > 0 ? Math.fround(raw + (less.get(each) ?? 0)) : raw
      if (each >= this.#tokens || !(logit > most || (logit === most && each < token))) continue
      if (mask === undefined || ((mask[each >>> 5] ?? 0) >>> (each & 31)) & 1) [token, most] = [each, logit]
    }
    return token < 0 ? undefined : { token }
  }

  #with(row: SampleRow, known: ReadonlyMap<number, number>, others: number): Sampled {
    const logits = this.#logits.fill(others)
    for (const [token, logit] of known) if (token < this.#tokens) logits[token] = logit
    return sampleRow(logits, this.#tokens, row, this.#scratch)
  }
}
