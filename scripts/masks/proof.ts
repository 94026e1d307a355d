/** What a mask must hold at one place, decided by something else: see check-masks.ts. */

import type { TokenConstraint } from '../../src/contract/engine.js'
import type { Vocabulary } from '../../src/grammar/structured.js'
import { fromSource, type Grammar } from '../../src/grammar/structured.js'
import { type Begun, beginnings, type Language, type Random } from './languages.js'
import { wordsOf } from './vocabularies.js'

export interface Proof {
  /** Tokens looked at, each at a place and under a budget. */
  triples: number
  /** Of those that a completion fits after, but only one of more bytes than the shortest text. */
  shorterByTokens: number
  readonly faults: string[]
}

export const newProof = (): Proof => ({ triples: 0, shorterByTokens: 0, faults: [] })

const MOST_FAULTS = 20

function fault(proof: Proof, what: string): void {
  if (proof.faults.length < MOST_FAULTS) proof.faults.push(what)
}

export const allows = (mask: Uint32Array, token: number) => ((mask[token >> 5]! >>> (token & 31)) & 1) === 1

/** Walks a language that is known whole, at random, and decides about every token at every place. */
export function proveLanguage(proof: Proof, language: Language, vocabulary: Vocabulary, random: Random): void {
  const whole = new Whole(proof, language, vocabulary)
  const first = whole.begun.get('')
  if (first === undefined) return
  for (let walk = 0; walk < 4; walk++) {
    const constraint = whole.start('')
    // Endless languages are known up to a length, and so are walked under a budget that keeps to it.
    let budget = language.whole < Infinity || walk > 0 ? first.tokens + Math.floor(random() * 6) : Infinity
    let prefix = ''
    for (let step = 0; step < 14; step++) {
      const found = whole.prove(constraint, prefix, budget)
      if (found.length === 0) break
      const token = found[Math.floor(random() * found.length)]!
      constraint.accept(token)
      prefix += Buffer.from(vocabulary.bytes(token)).toString('latin1')
      budget--
    }
  }
}

/** The same after every beginning of a text, under every budget that may restrict. */
export function proveEverywhere(proof: Proof, language: Language, vocabulary: Vocabulary): void {
  const whole = new Whole(proof, language, vocabulary)
  for (const [prefix, { bytes, tokens }] of whole.begun) {
    for (let budget = Math.max(1, tokens - 1); budget <= bytes + 4; budget++) {
      whole.prove(whole.start(prefix), prefix, budget)
    }
  }
}

class Whole {
  readonly begun: ReadonlyMap<string, Begun>
  readonly #proof: Proof
  readonly #language: Language
  readonly #vocabulary: Vocabulary
  readonly #grammar: Grammar
  readonly #longest: number
  readonly #mask: Uint32Array
  readonly #bytes = new Map<string, number>()

  constructor(proof: Proof, language: Language, vocabulary: Vocabulary) {
    const { words, longest } = wordsOf(vocabulary)
    this.#proof = proof
    this.#language = language
    this.#vocabulary = vocabulary
    this.#grammar = fromSource(language.source)
    this.#longest = longest
    this.#mask = new Uint32Array(vocabulary.words)
    this.begun = beginnings(language, words, longest)
    for (let token = 0; token < vocabulary.size; token++) {
      const bytes = vocabulary.bytes(token)
      if (bytes.length === 1) this.#bytes.set(String.fromCharCode(bytes[0]!), token)
    }
  }

  /** After these bytes, each of which is a token. */
  start(prefix: string): TokenConstraint {
    const constraint = this.#grammar.start(this.#vocabulary)
    for (const letter of prefix) {
      if (!constraint.accept(this.#bytes.get(letter)!))
        fault(this.#proof, `${this.#language.name}: ${quoted(prefix)} is refused`)
    }
    return constraint
  }

  /** Decides about every token at one place; those that may come. */
  prove(constraint: TokenConstraint, prefix: string, budget: number): number[] {
    const language = this.#language
    const proof = this.#proof
    const { begun } = this
    const vocabulary = this.#vocabulary
    if (!constraint.closing(budget)) {
      if (begun.get(prefix)!.bytes <= budget)
        fault(proof, `${language.name}: closing(${budget}) after ${quoted(prefix)}`)
      return []
    }
    constraint.mask(this.#mask)
    const found: number[] = []
    for (let token = 0; token < vocabulary.size; token++) {
      const allowed = allows(this.#mask, token)
      if (allowed !== accepts(constraint, token))
        fault(proof, `${language.name}: mask and accept of ${token} after ${quoted(prefix)} within ${budget}`)
      if (vocabulary.eos.includes(token)) {
        if (allowed !== begun.get(prefix)!.text) fault(proof, `${language.name}: the end after ${quoted(prefix)}`)
        proof.triples++
        continue
      }
      const text = prefix + Buffer.from(vocabulary.bytes(token)).toString('latin1')
      const after = begun.get(text)
      // Of an endless language only what is left of the known length can be denied.
      const known = text.length + (budget - 1) * this.#longest <= language.whole
      if (!known && (after === undefined || after.bytes > budget - 1)) continue
      proof.triples++
      judge(proof, language, after, { allowed, budget: budget - 1, token, prefix })
      if (allowed && after !== undefined) found.push(token)
    }
    if (language.whole === Infinity && found.length === 0 && !begun.get(prefix)!.text)
      fault(proof, `${language.name}: nothing may come after ${quoted(prefix)} within ${budget}`)
    return found
  }
}

interface Asked {
  readonly allowed: boolean
  readonly budget: number
  readonly token: number
  readonly prefix: string
}

function judge(proof: Proof, { name }: Language, after: Begun | undefined, step: Asked): void {
  const { allowed, budget, token, prefix } = step
  const where = () => `${name}: token ${token} after ${quoted(prefix)} with ${budget} left`
  if (after === undefined) {
    if (allowed) fault(proof, `${where()} leads nowhere and is allowed`)
    return
  }
  if (allowed && after.tokens > budget) fault(proof, `${where()} takes ${after.tokens} more and is allowed`)
  if (allowed) return
  if (after.bytes <= budget) fault(proof, `${where()} takes ${after.bytes} bytes more and is refused`)
  if (after.tokens <= budget) proof.shorterByTokens++
}

function accepts(constraint: TokenConstraint, token: number): boolean {
  if (!constraint.accept(token)) return false
  constraint.rollback(1)
  return true
}

/** At places of a random walk: whether the mask has just those of some tokens that are accepted one by one. */
export function proveAccepted(
  proof: Proof,
  name: string,
  constraint: TokenConstraint,
  vocabulary: Vocabulary,
  random: Random,
  sampled: number,
): void {
  const mask = new Uint32Array(vocabulary.words)
  let budget = random() < 0.2 ? Infinity : constraint.shortest + Math.floor(random() * random() * 200)
  for (let step = 0; step < 12 && !constraint.done && budget > 0; step++, budget--) {
    if (budget < Infinity && !constraint.closing(budget)) {
      fault(proof, `${name}: ${budget} tokens no longer suffice`)
      return
    }
    constraint.mask(mask)
    const allowed: number[] = []
    for (let token = 0; token < vocabulary.size; token++) if (allows(mask, token)) allowed.push(token)
    if (allowed.length === 0) {
      fault(proof, `${name}: nothing is allowed at step ${step} within ${budget}`)
      return
    }
    const look = (token: number) => {
      proof.triples++
      if (allows(mask, token) !== accepts(constraint, token))
        fault(proof, `${name}: mask and accept of ${token} at step ${step} within ${budget}`)
    }
    for (let i = 0; i < sampled; i++) {
      look(Math.floor(random() * vocabulary.size))
      look(allowed[Math.floor(random() * allowed.length)]!)
    }
    constraint.accept(allowed[Math.floor(random() * allowed.length)]!)
  }
}

/** Whether each token of a document is allowed in its turn. */
export function proveWritten(
  proof: Proof,
  name: string,
  constraint: TokenConstraint,
  vocabulary: Vocabulary,
  tokens: readonly number[],
  budget: number,
): void {
  const mask = new Uint32Array(vocabulary.words)
  let left = budget
  for (const token of [...tokens, vocabulary.eos[0]!]) {
    const where = () => `${name}: ${quoted(Buffer.from(vocabulary.bytes(token)).toString('latin1'))} with ${left} left`
    const closes = constraint.closing(left)
    constraint.mask(mask)
    proof.triples++
    if (!closes || !allows(mask, token) || !constraint.accept(token)) {
      fault(proof, `${where()} ${closes ? 'is refused' : 'cannot be closed'}`)
      return
    }
    left--
  }
}

/** Some way to write a text in tokens, each the longest that fits or any other. */
export class Segments {
  readonly #tokens = new Map<string, number>()
  readonly #longest: number

  constructor(vocabulary: Vocabulary) {
    let longest = 1
    for (let token = 0; token < vocabulary.size; token++) {
      const bytes = vocabulary.bytes(token)
      if (bytes.length === 0 || bytes.length > 24) continue
      this.#tokens.set(Buffer.from(bytes).toString('latin1'), token)
      longest = Math.max(longest, bytes.length)
    }
    this.#longest = longest
  }

  random(text: string, random: Random): number[] {
    const bytes = Buffer.from(text).toString('latin1')
    const found: number[] = []
    for (let at = 0; at < bytes.length; ) {
      const fitting: [number, number][] = []
      for (let n = 1; n <= this.#longest && at + n <= bytes.length; n++) {
        const token = this.#tokens.get(bytes.slice(at, at + n))
        if (token !== undefined) fitting.push([token, n])
      }
      const [token, n] = fitting[Math.floor(random() * fitting.length)]!
      found.push(token)
      at += n
    }
    return found
  }
}

function quoted(bytes: string): string {
  return JSON.stringify(Buffer.from(bytes, 'latin1').toString('utf8'))
}
