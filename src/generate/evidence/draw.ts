import type { Sampled, TokenConstraint } from '../../contract/index.js'
import { exp } from '../../platform/index.js'
import type { Named } from './named.js'

/** A place in a document, and the texts that might have come there. */
export interface Place {
  /** Bytes of the document before it. */
  readonly at: number
  /** All tokens before it. */
  readonly before: TokensBefore
  /** Where the grammar stood. */
  readonly grammar: TokenConstraint
  /** Of all that the grammar admitted, the model's probability of each token that was asked for. */
  readonly shares: ReadonlyMap<number, number>
  /** Nothing else was admitted. */
  readonly all: boolean
  /** Nothing else that was admitted ends what was being written and goes on with what follows. */
  readonly reaching: boolean
}

/** A place where a token was drawn. */
export interface Draw extends Place {
  readonly token: number
}

/** A stretch of a document, in bytes. */
export interface DrawnSpan {
  readonly start: number
  readonly end: number
  /** It says itself where it ends: a string. The end of a number shows in what follows it. */
  readonly closed: boolean
}

/** Runs of certain text replace no more of an answer's last tokens. */
const MOST_REPLACED = 16

/** The tokens of an answer up to some place, though the last of them may be replaced later. */
export class TokensBefore {
  readonly #all: readonly number[]
  readonly #kept: number
  readonly #last: readonly number[]
  readonly #own: number

  /** `own`: how many of them are the document's. */
  constructor(all: readonly number[], own: number) {
    this.#all = all
    this.#own = own
    this.#kept = Math.max(0, all.length - MOST_REPLACED)
    this.#last = all.slice(this.#kept)
  }

  /** Those that may be replaced. */
  get last(): readonly number[] {
    return this.#own === 0 ? [] : this.#last.slice(-this.#own)
  }

  get own(): number {
    return this.#own
  }

  whole(): number[] {
    return [...this.#all.slice(0, this.#kept), ...this.#last]
  }
}

/** The shares of the tokens asked for, and of the drawn one where it is known. */
export function tokenShares({ token, logprob, among = [], admitted }: Sampled, { tokens }: Named): Map<number, number> {
  const share = (own: number) => exp(own - admitted!)
  const shares = new Map(tokens.map((named, i) => [named, share(among[i]!)]))
  if (logprob !== undefined) shares.set(token, share(logprob))
  return shares
}
