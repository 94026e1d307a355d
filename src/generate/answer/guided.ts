import { type TokenConstraint, V1Error } from '../../contract/index.js'
import { bytesOf, type ForcedRun, forcedTokens, GrammarError, narrow } from '../../grammar/index.js'
import { atOnce, type Slices } from '../../platform/index.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

/** Makes a mask one of these tokens alone. */
export function maskOnly(mask: Uint32Array, tokens: Iterable<number>): Uint32Array {
  mask.fill(0)
  return withTokens(mask, tokens)
}

/** And of all but these. */
export function maskAllBut(mask: Uint32Array, tokens: Iterable<number>): Uint32Array {
  mask.fill(0xffffffff)
  for (const token of tokens) mask[token >>> 5]! &= ~(1 << (token & 31))
  return mask
}

function withTokens(mask: Uint32Array, tokens: Iterable<number>): Uint32Array {
  for (const token of tokens) mask[token >>> 5]! |= 1 << (token & 31)
  return mask
}

export interface GuidedRun extends ForcedRun {
  /** The text of the run that is new. */
  readonly bytes: Uint8Array
}

/** How many tokens before a text are read with it. */
const CONTEXT = 6
/** More than any run of certain tokens looks back. */
const READ_AGAIN = 32

/** One stretch of an answer under a grammar: what may come next, and what must. */
export class Guided {
  readonly #tokenizer: Tokenizer
  #constraint: TokenConstraint
  /** Tokens accepted so far: those that a forced run may replace. */
  #accepted: number[]
  /** Tokens that forced bytes may begin with, from the last plan. */
  #next: readonly number[] = []

  /** `written`: tokens before it that it may replace. */
  constructor(constraint: TokenConstraint, tokenizer: Tokenizer, written: readonly number[] = []) {
    this.#accepted = [...written]
    this.#constraint = constraint
    this.#tokenizer = tokenizer
  }

  get done(): boolean {
    return this.#constraint.done
  }

  /** The same, to be gone on with apart. */
  clone(): Guided {
    const copy = new Guided(this.#constraint.clone(), this.#tokenizer)
    copy.#accepted = this.#accepted.slice(-READ_AGAIN)
    copy.#next = this.#next
    return copy
  }

  /** The bytes that are certain to come next. */
  get forced(): Uint8Array {
    return this.#constraint.forced()
  }

  /** The tokens of a text that goes on from what was accepted, as the tokenizer would have spelled them in the whole. */
  spell(text: string): readonly number[] {
    const before = this.#accepted.slice(-CONTEXT)
    const context = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOf(this.#tokenizer, before))
    const whole = this.#tokenizer.encodeContinuation(context + text)
    const goesOn = before.every((token, i) => whole[i] === token)
    return goesOn ? whole.slice(before.length) : this.#tokenizer.encodeContinuation(text)
  }

  /** The fewest tokens with which this stretch can end; 0 where it may end here. */
  get shortest(): number {
    return this.#constraint.shortest
  }

  /** False if no token may come next within `budget`, which only a wrong grammar or budget can bring about. */
  mask(into: Uint32Array, budget: number): boolean {
    return atOnce(this.maskInSlices(into, budget))
  }

  /** The same; the grammar stays where it stands until it is done. */
  *maskInSlices(into: Uint32Array, budget: number): Slices<boolean> {
    into.fill(0)
    const constraint = this.#constraint
    if (!constraint.closing(budget)) return false
    const work = constraint.maskInSlices?.(into)
    if (work) while (!work.next().done) yield
    else constraint.mask(into)
    narrow(into, constraint.forced(), this.#next, this.#tokenizer)
    for (let i = 0; i < into.length; i++) if (into[i] !== 0) return true
    return false
  }

  /** The mask of what may come next, and of tokens beside it. */
  *allowed(mask: Uint32Array, budget: number, beside: Iterable<number> = []): Slices<Uint32Array> {
    const some = yield* this.maskInSlices(mask, budget)
    if (!some) throw new V1Error(500, 'The grammar allows no token here.')
    return withTokens(mask, beside)
  }

  /** The grammar as it stands. */
  fork(): TokenConstraint {
    return this.#constraint.clone()
  }

  /** How many tokens it has accepted: those that it may replace. */
  get accepted(): number {
    return this.#accepted.length
  }

  accept(token: number): boolean {
    if (!this.#constraint.accept(token)) return false
    this.#accepted.push(token)
    this.#next = []
    return true
  }

  /** Tokens that are certain to come next, if there are any and the text can still end within `budget` after them. */
  plan(budget: number, mayReplace: boolean): GuidedRun | undefined {
    const written = mayReplace ? this.#accepted : []
    const run = forcedTokens(this.#constraint, this.#tokenizer, written, budget)
    if (run === undefined) return undefined
    if (run.covered > 0) return { ...run, bytes: this.#constraint.forced().subarray(0, run.covered) }
    if (run.replace === 0) this.#next = run.next
    return undefined
  }

  /** Makes a planned run part of the stretch. */
  commit(run: GuidedRun): void {
    const after = this.#constraint.clone()
    after.rollback(run.replace)
    for (const token of run.tokens) after.accept(token)
    this.#constraint = after
    this.#accepted.length -= run.replace
    this.#accepted.push(...run.tokens)
    this.#next = run.next
  }
}

/** What an answer cannot go on for: what its grammar asks is bounded, and one read in too many ways is its author's to mend. */
export function grammarRefusal(error: unknown): unknown {
  if (isTooDeep(error)) return refused('the text is nested too deeply.', error)
  return error instanceof GrammarError ? refused(error.message, error) : error
}

/** The engine's own limit on recursion is one on nesting, in Firefox's words too. Every other such error is a fault of ours. */
const isTooDeep = (error: unknown): error is Error =>
  error instanceof Error && /call stack|too much recursion/.test(error.message)

function refused(message: string, cause: Error): V1Error {
  return new V1Error(400, `The answer cannot continue: ${message}`, { code: 'grammar_too_complex', cause })
}
