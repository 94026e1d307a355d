import type { Case, Weights } from './family.js'
import { FIRST_WORD } from './files/gguf.js'
import { argmax, type Kept, logSoftmax, type Vector } from './float64.js'
import { Random } from './random.js'

/** What float64 answers: a prompt, the greedy tokens after it, and the log probabilities of each step. */
export interface Answer {
  readonly tokens: readonly number[]
  /** After the prompt, and after each greedy token but the last. */
  readonly logprobs: readonly Vector[]
}

export function promptOf({ name, prompt, config }: Case): number[] {
  const random = new Random(`prompt of ${name}`)
  return Array.from({ length: prompt }, () => FIRST_WORD + random.below(config.vocab_size - FIRST_WORD))
}

const known = new WeakMap<Weights, Map<Case, Map<Kept | undefined, Answer>>>()

/**
 * Computed once for the same weights: a shorter answer is the beginning of a longer one. `kept`: what becomes of keys and
 * values where they are kept.
 */
export function answerOf(of: Case, weights: Weights, count: number, kept?: Kept): Answer {
  const cases = known.get(weights) ?? new Map<Case, Map<Kept | undefined, Answer>>()
  known.set(weights, cases)
  const answers = cases.get(of) ?? new Map<Kept | undefined, Answer>()
  cases.set(of, answers)
  const found = answers.get(kept)
  const answer = found && found.logprobs.length >= count ? found : computed(of, weights, count, kept)
  answers.set(kept, answer)
  return { tokens: answer.tokens.slice(0, of.prompt + count), logprobs: answer.logprobs.slice(0, count) }
}

function computed(of: Case, weights: Weights, count: number, kept?: Kept): Answer {
  const reference = of.reference(weights, undefined, kept)
  const tokens = promptOf(of)
  let logits: Vector | undefined
  for (const token of tokens) logits = reference.step(token)
  const logprobs: Vector[] = []
  for (let i = 0; i < count; i++) {
    logprobs.push(logSoftmax(logits!))
    const token = argmax(logits!)
    tokens.push(token)
    if (i + 1 < count) logits = reference.step(token)
  }
  return { tokens, logprobs }
}

/** The same tokens through the reference, with a mistake in it where one is named. */
export function retold(
  of: Case,
  weights: Weights,
  { tokens, logprobs }: Answer,
  mistake?: string,
  kept?: Kept,
): Vector[] {
  const reference = of.reference(weights, mistake, kept)
  const before = tokens.length - 1 - logprobs.length
  for (const token of tokens.slice(0, before)) reference.step(token)
  return tokens.slice(before, -1).map((token) => logSoftmax(reference.step(token)))
}

/** Of a number, what f32 leaves out. */
export const OF_F32 = 3e-7

/** How many times as far as float64 moves one may be off: few draws do not find the most. */
const TIMES = 3
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]

/** A limit in nats, or a wider one where float64 itself moves by more. Takes as long as eight answers. */
export function steadyLimit(limit: number, ...by: Parameters<typeof unsteady>): number {
  return Math.max(limit, TIMES * unsteady(...by))
}

/**
 * Nats that float64 itself moves by where keys and values are off by such a share of themselves, before they are kept: a
 * number between two of f16 may become either, and of two experts that tie either may be chosen, which some models magnify.
 */
function unsteady(of: Case, weights: Weights, answer: Answer, share: number, kept?: Kept): number {
  const moves = SEEDS.map((seed) => {
    const random = new Random(`noise ${seed}`)
    const near: Kept = (values) => {
      const noisy = values.map((value) => value * (1 + share * (2 * random.next() - 1)))
      return kept ? kept(noisy) : noisy
    }
    const predicted = retold(of, weights, answer, undefined, near).map(
      (logprobs) => (token: number) => logprobs[token]!,
    )
    return compare(answer.logprobs, predicted).worst
  })
  return Math.max(...moves)
}

export interface Verdict {
  readonly steps: number
  /** Steps at which the two would choose another token although the better one leads by more than a near-tie. */
  readonly wrongTokens: number
  /** The root of the mean square, over the 20 likeliest tokens of every step. */
  readonly rms: number
  readonly worst: number
}

/** Nats: of two tokens that are closer than this, either may be the greedy one. */
const NEAR_TIE = 1e-3

/** Nats by which the lead of one token over another may shrink at a step for a reason that is known. */
export type Allowance = (step: number, better: number, other: number) => number

/** By how much leads differ between two that were told of the same tokens. */
export function apart(one: readonly Vector[], two: readonly Vector[]): Allowance {
  return (step, better, other) => {
    const lead = (logprobs: Vector) => logprobs[better]! - logprobs[other]!
    return Math.abs(lead(one[step]!) - lead(two[step]!))
  }
}

export function compare(
  truth: readonly Vector[],
  predicted: readonly ((token: number) => number)[],
  allowed: Allowance = () => 0,
): Verdict {
  let wrongTokens = 0
  let squares = 0
  let worst = 0
  let count = 0
  truth.forEach((logprobs, i) => {
    const top = [...logprobs.keys()].sort((a, b) => logprobs[b]! - logprobs[a]!).slice(0, 20)
    const theirs = top.map((token) => predicted[i]!(token))
    const best = theirs.indexOf(Math.max(...theirs))
    const [better, other] = [top[0]!, top[best]!]
    if (logprobs[better]! - logprobs[other]! > NEAR_TIE + allowed(i, better, other)) wrongTokens++
    top.forEach((token, k) => {
      const difference = Math.abs(theirs[k]! - logprobs[token]!)
      squares += difference ** 2
      worst = Math.max(worst, difference)
      count++
    })
  })
  return { steps: truth.length, wrongTokens, rms: Math.sqrt(squares / count), worst }
}
