/**
 * A model of which each pass is written down, and what came of its guesses; and that says what it is told to, where a text
 * is given: made-up weights then do the work of a model that answers right.
 */
import type { Sampled, SampleSettings, Sequence, StepInput, TokenModel } from '../contract/index.js'
import type { ChatText } from '../generate/index.js'
import { joined } from '../platform/index.js'

/** A pass that drew tokens of an answer: before how many signs of it the first, and the guesses that were drawn for. */
export interface WatchedPass {
  readonly at: number
  readonly guesses: readonly { readonly at: number; readonly right: boolean }[]
}

export interface WatchedAnswer {
  /** The bytes of a token; undefined of marks. */
  readonly bytesOf: (token: number) => Uint8Array | undefined
  readonly ends: ReadonlySet<number>
  /** Of the answer that is being written: the tokens before it, and what it is to be. */
  promptTokens: number
  gold?: string
  passes: WatchedPass[]
}

/** Of nothing yet: what a prompt is counted as is not known before it is read. */
export function watchOf({ tokenizer, ends }: ChatText): WatchedAnswer {
  const { special } = tokenizer
  return {
    bytesOf: (token) => (special.has(token) ? undefined : tokenizer.bytes(token)),
    ends,
    promptTokens: Number.POSITIVE_INFINITY,
    passes: [],
  }
}

interface Draw {
  readonly position: number
  readonly settings: SampleSettings
}

const utf8 = new TextEncoder()

/** One answer at a time. `step` alone is watched, so that is all that the loop is offered. */
export function watched(model: TokenModel, watch: WatchedAnswer): TokenModel {
  const held = new WeakMap<Sequence, number[]>()
  const follow = (sequence: Sequence, tokens: number[]): Sequence => {
    held.set(sequence, tokens)
    const { clone, truncate } = sequence
    sequence.clone = () => follow(clone.call(sequence), [...tokens])
    sequence.truncate = (length) => {
      truncate.call(sequence, length)
      tokens.length = sequence.length
    }
    return sequence
  }
  const step = async (batch: readonly StepInput[]) => {
    for (const { sequence, tokens } of batch) held.get(sequence)!.push(...tokens)
    // What a step draws is settled before it: a sequence may be cut as soon as it is told.
    const all = batch.map(({ sequence }) => [...held.get(sequence)!])
    const sampled = await model.step(batch)
    return sampled.map((one, i) => (one === undefined ? undefined : steered(batch[i]!, all[i]!, one, watch)))
  }
  const own: Partial<Record<keyof TokenModel, unknown>> = {
    open: (length?: number) => follow(model.open(length), []),
    step,
    run: undefined,
    follow: undefined,
    guess: undefined,
  }
  return new Proxy(model, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof TokenModel]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function steered(input: StepInput, tokens: readonly number[], sampled: Sampled, watch: WatchedAnswer): Sampled {
  const settings = [...(input.drafts ?? []), input.sample]
  const draws = settings.flatMap((each, i): Draw[] =>
    each === undefined ? [] : [{ position: tokens.length - settings.length + i, settings: each }],
  )
  // Nothing is returned where nothing is drawn.
  const were = [...(sampled.drafts ?? []), sampled]
  const signsTo = (position: number) => bytesIn(tokens.slice(watch.promptTokens, position + 1), watch)
  const gold = watch.gold === undefined ? undefined : utf8.encode(watch.gold)
  const drawn = draws.map(({ position, settings }, i) => {
    const token = gold && nextOf(gold, signsTo(position), settings, watch)
    return token === undefined ? were[i]! : { ...were[i]!, token }
  })
  if (tokens.length >= watch.promptTokens) watch.passes.push(passOf(draws, drawn, tokens, signsTo))
  const last = drawn.pop()!
  return input.drafts === undefined ? last : { ...last, drafts: drawn }
}

function passOf(
  draws: readonly Draw[],
  drawn: readonly Sampled[],
  tokens: readonly number[],
  signsTo: (position: number) => Uint8Array,
): WatchedPass {
  const guesses: { at: number; right: boolean }[] = []
  for (const [i, { position }] of draws.slice(0, -1).entries()) {
    const right = drawn[i]!.token === tokens[position + 1]
    guesses.push({ at: signsTo(position).length, right })
    // Behind a wrong one nothing was guessed for.
    if (!right) break
  }
  return { at: signsTo(draws[0]!.position).length, guesses }
}

const bytesIn = (tokens: readonly number[], { bytesOf }: WatchedAnswer): Uint8Array =>
  joined(tokens.map((token) => bytesOf(token) ?? new Uint8Array()))

/** The longest allowed token by which the text goes on as it should; undefined where it has gone another way. */
function nextOf(
  gold: Uint8Array,
  written: Uint8Array,
  { mask }: SampleSettings,
  watch: WatchedAnswer,
): number | undefined {
  if (written.length > gold.length || written.some((byte, i) => byte !== gold[i])) return undefined
  let best: number | undefined
  let length = 0
  for (const token of allowed(mask)) {
    if (written.length === gold.length) {
      if (watch.ends.has(token)) return token
      continue
    }
    const bytes = watch.bytesOf(token)
    if (!bytes || bytes.length <= length) continue
    if (bytes.every((byte, i) => byte === gold[written.length + i])) [best, length] = [token, bytes.length]
  }
  return best
}

function* allowed(mask: Uint32Array | undefined): Generator<number> {
  for (const [word, bits] of (mask ?? []).entries()) {
    for (let rest = bits; rest !== 0; rest &= rest - 1) yield word * 32 + (31 - Math.clz32(rest & -rest))
  }
}
