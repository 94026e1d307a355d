import type { OutputGrammar, TokenConstraint } from '../../engine.js'
import type { ChatText } from '../chat-text.js'

const encoder = new TextEncoder()

/** A grammar of a handful of documents, by brute force: every question is answered by looking at all of them. */
export class FiniteGrammar implements OutputGrammar {
  readonly documents: readonly string[]
  readonly #text: ChatText

  constructor(text: ChatText, documents: readonly string[]) {
    this.#text = text
    this.documents = documents
  }

  accepts(text: string): boolean {
    return this.documents.includes(text)
  }

  start(): TokenConstraint {
    const documents = this.documents.map((text) => encoder.encode(text))
    return new FiniteConstraint(
      this.#text,
      documents,
      documents.map((bytes) => costs(bytes, this.#text)),
    )
  }
}

class FiniteConstraint implements TokenConstraint {
  readonly #text: ChatText
  readonly #documents: readonly Uint8Array[]
  /** For each document and place in it, the fewest tokens to its end. */
  readonly #costs: readonly Int32Array[]
  readonly #tokens: number[] = []
  #at = 0
  #alive: number[]
  #budget = Number.POSITIVE_INFINITY

  constructor(
    text: ChatText,
    documents: readonly Uint8Array[],
    costs: readonly Int32Array[],
    tokens: readonly number[] = [],
  ) {
    this.#text = text
    this.#documents = documents
    this.#costs = costs
    this.#alive = documents.map((_, i) => i)
    for (const token of tokens) this.accept(token)
  }

  get done(): boolean {
    return this.#alive.length > 0 && this.#alive.every((i) => this.#documents[i]!.length === this.#at)
  }

  get shortest(): number {
    return Math.min(...this.#alive.map((i) => this.#costs[i]![this.#at]!))
  }

  mask(into: Uint32Array): void {
    for (let token = 0; token < this.#text.tokenizer.size; token++) {
      const bytes = this.#text.tokenizer.bytes(token)
      const fits = this.#alive.some(
        (i) =>
          follows(this.#documents[i]!, bytes, this.#at) && this.#costs[i]![this.#at + bytes.length]! < this.#budget,
      )
      if (bytes.length > 0 && fits) into[token >>> 5]! |= 1 << (token & 31)
    }
    if (this.shortest > 0) return
    for (const token of this.#text.ends) into[token >>> 5]! |= 1 << (token & 31)
  }

  accept(token: number): boolean {
    const bytes = this.#text.tokenizer.bytes(token)
    const alive = this.#alive.filter((i) => follows(this.#documents[i]!, bytes, this.#at))
    if (bytes.length === 0 || alive.length === 0) return false
    this.#alive = alive
    this.#at += bytes.length
    this.#tokens.push(token)
    return true
  }

  forced(): Uint8Array {
    const [first, ...others] = this.#alive.map((i) => this.#documents[i]!)
    let end = this.#at
    while (end < first!.length && others.every((other) => other[end] === first![end])) end++
    return first!.slice(this.#at, end)
  }

  closing(budget: number): boolean {
    this.#budget = budget
    return this.shortest <= budget
  }

  rollback(tokens: number): void {
    const kept = this.#tokens.slice(0, this.#tokens.length - tokens)
    this.#tokens.length = 0
    this.#at = 0
    this.#alive = this.#documents.map((_, i) => i)
    for (const token of kept) this.accept(token)
  }

  clone(): TokenConstraint {
    return new FiniteConstraint(this.#text, this.#documents, this.#costs, this.#tokens)
  }
}

function follows(document: Uint8Array, bytes: Uint8Array, at: number): boolean {
  if (at + bytes.length > document.length) return false
  return bytes.every((byte, i) => document[at + i] === byte)
}

function costs(document: Uint8Array, text: ChatText): Int32Array {
  const least = new Int32Array(document.length + 1).fill(1 << 20)
  least[document.length] = 0
  for (let at = document.length - 1; at >= 0; at--) {
    for (let token = 0; token < text.tokenizer.size; token++) {
      const bytes = text.tokenizer.bytes(token)
      if (bytes.length > 0 && follows(document, bytes, at))
        least[at] = Math.min(least[at]!, 1 + least[at + bytes.length]!)
    }
  }
  return least
}
