import { ENTRY_BYTES } from '../kept.js'
import type { Vocabulary } from './vocabulary.js'

/** Allowed tokens: as a list while that is the shorter way to keep them, else as a mask. */
export type Tokens = { readonly list: Int32Array } | { readonly words: Uint32Array }

export function bytesOfTokens(tokens: Tokens): number {
  return ENTRY_BYTES + ('list' in tokens ? tokens.list : tokens.words).byteLength
}

/** What walks find: bits in a mask, and the same as a list. */
export class Found {
  /** The longest way to the end after any of the tokens, as far as it was asked for. */
  longest = 0
  /** Tokens for which it depends on the text of a key: to be tried one by one. */
  unsure: number[] = []
  #mask: Uint32Array
  readonly #own: Uint32Array
  /** Nodes of tries that walks have followed, and tokens that were found to lead nowhere: the work of all masks so far. */
  followed = 0
  /** These are left out. */
  without: ReadonlySet<number> | undefined
  readonly #list: Int32Array
  #count = 0

  constructor(vocabulary: Vocabulary) {
    this.#list = new Int32Array(vocabulary.words)
    this.#own = new Uint32Array(vocabulary.words)
    this.#mask = this.#own
  }

  get bytes(): number {
    return this.#own.byteLength + this.#list.byteLength
  }

  /** Begins anew with an empty mask. */
  clear(): void {
    this.begin(this.#own.fill(0))
  }

  /** Begins anew; bits are added to those in `mask`. */
  begin(mask: Uint32Array): void {
    this.#mask = mask
    this.#count = 0
    this.longest = 0
    this.unsure = []
    this.without = undefined
  }

  /** Puts back what was found so far when it is called: others find something meanwhile. */
  leave(): () => void {
    const { longest, unsure, without } = this
    const [mask, count] = [this.#mask, this.#count]
    const [own, list] = [this.#own.slice(), this.#list.slice(0, count)]
    return () => {
      this.#mask = mask
      this.#count = count
      this.#own.set(own)
      this.#list.set(list)
      Object.assign(this, { longest, unsure, without })
    }
  }

  /** What was found since; the mask was empty before. */
  tokens(): Tokens {
    const few = this.#count <= this.#list.length
    return few ? { list: this.#list.slice(0, this.#count) } : { words: this.#mask.slice() }
  }

  /** Tokens from one place of a trie's list up to another. */
  add(tokens: Uint32Array, from: number, to: number): void {
    const { without } = this
    const mask = this.#mask
    const list = this.#list
    let count = this.#count
    for (let i = from; i < to; i++) {
      const token = tokens[i]!
      if (without?.has(token)) continue
      mask[token >> 5]! |= 1 << (token & 31)
      if (count < list.length) list[count] = token
      count++
    }
    this.#count = count
  }

  doubt(tokens: Uint32Array, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      if (!this.without?.has(tokens[i]!)) this.unsure.push(tokens[i]!)
    }
  }
}

/** Sets the bits of tokens that were kept. */
export function setTokens(into: Uint32Array, tokens: Tokens): void {
  if ('list' in tokens) for (const token of tokens.list) into[token >> 5]! |= 1 << (token & 31)
  else setWords(into, tokens.words)
}

export function setWords(into: Uint32Array, words: Uint32Array): void {
  for (let i = 0; i < words.length; i++) into[i]! |= words[i]!
}
