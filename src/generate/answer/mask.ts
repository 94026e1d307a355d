import { V1Error } from '../../contract/index.js'
import type { Guided } from './guided.js'

/** The tokens that may come next, in one buffer that is used again for every step. */
export class Mask {
  readonly #words: Uint32Array

  constructor(vocabSize: number) {
    this.#words = new Uint32Array(Math.ceil(vocabSize / 32))
  }

  only(tokens: Iterable<number>): Uint32Array {
    this.#words.fill(0)
    return this.#add(tokens)
  }

  allBut(tokens: Iterable<number>): Uint32Array {
    this.#words.fill(0xffffffff)
    for (const token of tokens) this.#words[token >>> 5]! &= ~(1 << (token & 31))
    return this.#words
  }

  /** What a grammar allows, and tokens beside it. */
  allowed(guided: Guided, budget: number, beside: Iterable<number> = []): Uint32Array {
    if (!guided.mask(this.#words, budget)) throw new V1Error(500, 'The grammar allows no token here.')
    return this.#add(beside)
  }

  #add(tokens: Iterable<number>): Uint32Array {
    for (const token of tokens) this.#words[token >>> 5]! |= 1 << (token & 31)
    return this.#words
  }
}
