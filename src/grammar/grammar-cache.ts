import type { Grammar } from './grammar.js'

/** Grammars by any key, up to a limit of memory: the least recently used ones are dropped. */
export class GrammarCache {
  readonly #maxBytes: number
  readonly #grammars = new Map<string, Grammar>()

  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#maxBytes = maxBytes
  }

  /** The memory that all of them take now: they grow while they are used. */
  get bytes(): number {
    let bytes = 0
    for (const [key, grammar] of this.#grammars) bytes += 2 * key.length + grammar.bytes
    return bytes
  }

  get size(): number {
    return this.#grammars.size
  }

  get(key: string): Grammar | undefined {
    const grammar = this.#grammars.get(key)
    if (grammar !== undefined) {
      this.#grammars.delete(key)
      this.#grammars.set(key, grammar)
    }
    return grammar
  }

  set(key: string, grammar: Grammar): void {
    this.#grammars.delete(key)
    this.#grammars.set(key, grammar)
    this.trim()
  }

  /** Drops grammars until the limit is met. */
  trim(): void {
    let { bytes } = this
    for (const [key, grammar] of this.#grammars) {
      if (bytes <= this.#maxBytes) return
      bytes -= 2 * key.length + grammar.bytes
      this.#grammars.delete(key)
    }
  }
}
