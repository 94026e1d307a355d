import type { TokenConstraint } from '../../contract/index.js'
import { commonLength, getOrMake, joined, LruMap } from '../../platform/index.js'

/**
 * Turns text that is certain to come into the tokens a tokenizer would have given for the whole answer, so that the
 * model sees what it saw in training.
 */
export interface ForcedRun {
  /** How many tokens at the end of the answer are replaced (the boundary token, healed). */
  readonly replace: number
  readonly tokens: readonly number[]
  /** Forced bytes that `tokens` cover; the rest is left for the next token to begin with. May be none. */
  readonly covered: number
  /** Tokens with which the rest begins in one continuation or another. */
  readonly next: readonly number[]
}

/** The part of a tokenizer that `forcedTokens` uses. */
export interface TokenSpelling {
  /** The tokens of a text that follows another text, without those that begin a prompt. */
  encodeContinuation(text: string): readonly number[]
  /** The bytes of a token. */
  bytes(token: number): Uint8Array
}

/** Ways in which JSON goes on: what could still merge with the end of a forced text. */
const CONTINUATIONS = ['"', 'a', '0', ' ', '[', '}', '-', "'", '.', '(', '/', '\\', '<', '#', '%', '@']
/** How many of the last tokens are read again, tried in this order. */
const CONTEXTS = [3, 6, 12, 1]

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The tokens that are certain to come next, as the tokenizer would split the whole text; undefined if there are none.
 * `written` are the last tokens before, of which some may be replaced: remove `replace` of them, then accept `tokens`. Later
 * text does not change them, except if the grammar has a choice within a word: with `published` and `publishable`, the
 * letters that both share are a token of their own.
 *
 * @param budget tokens with which the text must still be able to end
 */
export function forcedTokens(
  constraint: TokenConstraint,
  tokenizer: TokenSpelling,
  written: readonly number[] = [],
  budget = Number.POSITIVE_INFINITY,
): ForcedRun | undefined {
  const forced = constraint.forced()
  if (forced.length === 0) return undefined
  const context = lastText(tokenizer, written.slice(-MOST_WRITTEN))
  const plan = planForced(tokenizer, context, forced, false)
  if (plan?.covered !== forced.length && constraint.shortest <= forced.length) {
    const last = planForced(tokenizer, context, forced, true)
    if (last?.covered && fits(constraint, last, budget, true)) return last
  }
  return plan !== undefined && (plan.covered === 0 || fits(constraint, plan, budget, false)) ? plan : undefined
}

/** Words and numbers that a forced text may still belong to are shorter. */
const MOST_WRITTEN = 12

/** The last tokens that are text: what stands before a control token is not read again, and nor is that token. */
function lastText(tokenizer: TokenSpelling, written: readonly number[]): readonly number[] {
  return written.slice(written.findLastIndex((token) => tokenizer.bytes(token).length === 0) + 1)
}

function fits(constraint: TokenConstraint, run: ForcedRun, budget: number, mustEnd: boolean): boolean {
  const after = constraint.clone()
  after.rollback(run.replace)
  for (const token of run.tokens) if (!after.accept(token)) return false
  if (mustEnd && !after.done) return false
  // Canonical tokens may be more than the fewest: near the end of the budget the fewest win.
  return after.shortest <= budget - run.tokens.length + run.replace
}

/**
 * @param answer tokens before the run that may be replaced
 * @param forced bytes that come next
 * @param ends nothing follows the forced bytes
 */
export function planForced(
  tokenizer: TokenSpelling,
  answer: readonly number[],
  forced: Uint8Array,
  ends: boolean,
): ForcedRun | undefined {
  for (const size of CONTEXTS) {
    if (size > answer.length && size !== CONTEXTS[0]) continue
    const tail = answer.slice(Math.max(0, answer.length - size))
    const run = planAfter(tokenizer, tail, forced, ends)
    if (run !== undefined) return run
  }
  return answer.length === 0 ? undefined : planAfter(tokenizer, [], forced, ends)
}

function planAfter(
  tokenizer: TokenSpelling,
  tail: readonly number[],
  forced: Uint8Array,
  ends: boolean,
): ForcedRun | undefined {
  const context = bytesOf(tokenizer, tail)
  const whole = textOf(joined([context, forced]))
  if (whole === undefined) return undefined
  const { ids, next } = ends ? { ids: tokenizer.encodeContinuation(whole), next: [] } : certainOf(tokenizer, whole)
  const kept = commonLength(tail, ids)
  // A tail that reads otherwise from its beginning was cut within a word, or the model did not write canonically.
  if (tail.length - kept > 2 || (tail.length > 1 && kept === 0)) return undefined
  const covered = bytesOf(tokenizer, ids).length - context.length
  if (covered < 0 || covered > forced.length) return undefined
  return { replace: tail.length - kept, tokens: ids.slice(kept), covered, next }
}

interface Certain {
  readonly ids: readonly number[]
  readonly next: readonly number[]
}

/** How ends of texts go on: schemas bring the same few again and again. */
const endings = new WeakMap<TokenSpelling, LruMap<string, Certain & { readonly all: readonly number[] }>>()
/** Tokens at the end of a text that what follows may change. */
const ENDING = 4

/** The tokens that a text begins with however it goes on, and those that may follow them. */
function certainOf(tokenizer: TokenSpelling, text: string): Certain {
  const ids = tokenizer.encodeContinuation(text)
  const from = Math.max(0, ids.length - ENDING)
  const ending = textOf(bytesOf(tokenizer, ids.slice(from)))
  if (ending !== undefined && text.endsWith(ending)) {
    const { all, ids: certain, next } = certainEnding(tokenizer, ending)
    const alike = all.every((id, i) => id === ids[from + i])
    if (alike && certain.length > 0) return { ids: ids.slice(0, from + certain.length), next }
  }
  return probe(tokenizer, text, ids)
}

function certainEnding(tokenizer: TokenSpelling, text: string) {
  const known = getOrMake(endings, tokenizer, () => new LruMap(512))
  return getOrMake(known, text, () => {
    const all = tokenizer.encodeContinuation(text)
    return { all, ...probe(tokenizer, text, all) }
  })
}

function probe(tokenizer: TokenSpelling, text: string, ids: readonly number[]): Certain {
  const others = CONTINUATIONS.map((more) => tokenizer.encodeContinuation(text + more))
  const certain = others.reduce((length, other) => commonLength(ids, other, length), ids.length)
  const next = new Set<number>()
  for (const other of [ids, ...others]) if (certain < other.length) next.add(other[certain]!)
  return { ids: ids.slice(0, certain), next: [...next] }
}

export function bytesOf(tokenizer: TokenSpelling, tokens: readonly number[]): Uint8Array {
  return joined(tokens.map((token) => tokenizer.bytes(token)))
}

/** The text of the bytes, less a character that is cut at their end; undefined if they begin within one. */
function textOf(bytes: Uint8Array): string | undefined {
  for (let cut = 0; cut < 4 && cut <= bytes.length; cut++) {
    try {
      return utf8.decode(bytes.subarray(0, bytes.length - cut))
    } catch {
      // Shorter by one byte, perhaps.
    }
  }
  return undefined
}

/** Keeps, of the tokens in `mask`, those that begin with all of `bytes`, and `others`; leaves it alone if none is left. */
export function narrow(
  mask: Uint32Array,
  bytes: Uint8Array,
  others: readonly number[],
  tokenizer: TokenSpelling,
): void {
  if (bytes.length === 0) return
  const kept = others.filter((id) => (mask[id >>> 5]! >>> (id & 31)) & 1)
  for (let word = 0; word < mask.length; word++) {
    for (let bits = mask[word]!; bits !== 0; bits &= bits - 1) {
      const id = word * 32 + 31 - Math.clz32(bits & -bits)
      if (startsWith(tokenizer.bytes(id), bytes)) kept.push(id)
    }
  }
  if (kept.length === 0) return
  mask.fill(0)
  for (const id of kept) mask[id >>> 5]! |= 1 << (id & 31)
}

function startsWith(token: Uint8Array, bytes: Uint8Array): boolean {
  if (token.length < bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (token[i] !== bytes[i]) return false
  return true
}
