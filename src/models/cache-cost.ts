/** What it costs to keep keys and values in fewer bits: how far apart what a model says next is, with one cache and the other. */
import { logSumExp } from '../device/index.js'
import type { Core } from './core.js'

/** Nats on average, from which on fewer bits are not worth what they save. */
export const MOST_COST = 0.01

/** Of a short text alone. Behind long ones a model may lose more: of those that were measured, up to three times as much. */
export const MOST_TRIAL_COST = MOST_COST / 4

/** Behind one token of a text. */
export interface StepCost {
  /** Kullback-Leibler divergence of the second from the first, over the whole vocabulary, in nats. */
  readonly divergence: number
  /** Whether another token is likeliest. */
  readonly isOther: boolean
  /** Log probabilities of the token that follows in the text, in the first and in the second; absent behind the last one. */
  readonly next?: readonly [first: number, second: number]
}

/** Reads a text with two caches, in step. `tokens`: ids that the tokenizer knows; there may be logits of others. */
export async function* costOf(
  first: Core,
  second: Core,
  text: readonly number[],
  tokens: number,
): AsyncGenerator<StepCost> {
  const sequences = [first, second].map((core) => core.open(text.length))
  const count = Math.min(tokens, first.vocabSize)
  let at = 0
  try {
    const others = second.logits(sequences[1]!, text)
    for await (const row of first.logits(sequences[0]!, text)) {
      const other = (await others.next()).value as Float32Array
      yield between(row.subarray(0, count), other.subarray(0, count), text[++at])
    }
  } finally {
    for (const sequence of sequences) sequence.close()
  }
}

/** On average over a text. NaN: what a cache made of it is no number. */
export async function meanCost(
  first: Core,
  second: Core,
  text: readonly number[],
  tokens: number,
  signal?: AbortSignal,
): Promise<number> {
  let sum = 0
  for await (const { divergence } of costOf(first, second, text, tokens)) {
    signal?.throwIfAborted()
    sum += divergence
  }
  return sum / text.length
}

function between(one: Float32Array, other: Float32Array, next: number | undefined): StepCost {
  const [ofOne, ofOther] = [logSumExp(one, one.length), logSumExp(other, other.length)]
  let divergence = 0
  for (let i = 0; i < one.length; i++) {
    const log = one[i]! - ofOne
    // What cannot be said has no share, whatever it is divided by.
    if (log > Number.NEGATIVE_INFINITY) divergence += Math.exp(log) * (log - other[i]! + ofOther)
  }
  return {
    divergence,
    isOther: likeliest(one) !== likeliest(other),
    ...(next !== undefined && { next: [one[next]! - ofOne, other[next]! - ofOther] as const }),
  }
}

function likeliest(logits: Float32Array): number {
  let found = 0
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[found]!) found = i
  return found
}
