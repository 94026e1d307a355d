import type { GrammarSource, OutputGrammar, TokenConstraint, TokenVocabulary } from '../contract/index.js'
import { atOnce, type Slices } from '../platform/index.js'
import type { Machine } from './automaton/machine.js'
import { MASK_WORK, STEP_WORK } from './automaton/work.js'
import type { SchemaError } from './schema-error.js'
import { Masks } from './tokens/masks.js'
import { Vocabulary } from './tokens/vocabulary.js'
import { advance, startPlace, type TextPlace } from './walk.js'

const encoder = new TextEncoder()

/** As long as so many steps it takes to make a state. */
const STATE_STEPS = 30

/** What is known of a grammar once it is compiled. */
interface Compiled {
  readonly notEnforced: readonly SchemaError[]
  readonly source: GrammarSource
  readonly steps: number
  readonly bytes: number
}

let made = 0

/** A set of texts: the documents that satisfy a schema, each with one spelling. */
export class Grammar implements OutputGrammar {
  readonly #machine: Machine
  readonly #masks = new WeakMap<Vocabulary, Masks>()
  /** The same, to be counted. */
  #counted: readonly WeakRef<Masks>[] = []
  readonly #compiledBytes: number
  /** No other grammar has the same. */
  readonly id = ++made
  /** What could not be enforced; empty with `strict`. */
  readonly notEnforced: readonly SchemaError[]
  readonly source: GrammarSource
  /** The steps that compiling took; `CompileOptions.fuel` limits them. */
  readonly steps: number

  constructor(machine: Machine, { notEnforced, source, steps, bytes }: Compiled) {
    this.#machine = machine
    this.notEnforced = notEnforced
    this.source = source
    this.steps = steps
    this.#compiledBytes = bytes
  }

  /**
   * About how much memory it takes: the compiled grammar, and what is cached of its states and of each vocabulary. The cache
   * grows with use, up to some megabytes, and is then cleared.
   */
  get bytes(): number {
    const learned = this.#counted.reduce((sum, masks) => sum + (masks.deref()?.bytes ?? 0), 0)
    return this.#compiledBytes + this.#machine.bytes + learned + (schemaJudges.get(this)?.bytes ?? 0)
  }

  /** Whether exactly this text could be generated, then stop. */
  accepts(text: string): boolean {
    return atOnce(this.acceptsInSlices(text))
  }

  /** The same, with a pause after so much work. */
  *acceptsInSlices(text: string): Slices<boolean> {
    const machine = this.#machine
    let place = startPlace(machine)
    machine.work.rest()
    for (const byte of encoder.encode(text)) {
      if (machine.work.tires()) {
        yield
        machine.work.rest()
      }
      machine.limit(STEP_WORK)
      const { kept } = machine
      place = advance(machine, place, byte)
      if (place.state.dead) return false
      // Of an object with many keys each is planned anew.
      if (machine.kept > kept) machine.work.tire(STATE_STEPS * (machine.kept - kept))
    }
    return place.state.accepting
  }

  /** The tokens without text that it uses. */
  get silentTokens(): readonly string[] {
    return this.#machine.tokens
  }

  /** How many of its states are cached. */
  get states(): number {
    return this.#machine.kept
  }

  /** Bytes of the shortest document. */
  get shortest(): number {
    return this.#machine.start.length
  }

  /** Starts a constraint; each choice needs its own. What is found out about a vocabulary is cached in the grammar. */
  start(vocabulary: TokenVocabulary): TokenConstraint {
    if (!(vocabulary instanceof Vocabulary)) throw new TypeError('a grammar needs a Vocabulary of this package')
    let masks = this.#masks.get(vocabulary)
    if (masks === undefined) {
      masks = new Masks(this.#machine, vocabulary)
      this.#masks.set(vocabulary, masks)
      this.#counted = [...this.#counted.filter((one) => one.deref() !== undefined), new WeakRef(masks)]
    }
    return new Constraint(masks, startPlace(this.#machine))
  }
}

/** Judges whole documents by the schema, and counts with the grammar whose schema it has read: see `judge.ts`. */
export interface SchemaJudge {
  readonly bytes: number
  /** With a pause after so much work. */
  inSlices(value: unknown): Slices<boolean | undefined>
}

/** One for each grammar, as clients ask for the same again and again. */
export const schemaJudges = new WeakMap<Grammar, SchemaJudge>()

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

/** After so many accepted tokens: the place they lead to, and what is left of the budget. */
interface Accepted {
  readonly before: Accepted | undefined
  readonly place: TextPlace
  /** An end token has been accepted. */
  readonly ended: boolean
  readonly budget: number
}

/** No forced run is longer: it has to fit into one forward pass. */
const LONGEST_RUN = 512

/** Where one choice stands in its grammar. Its past is a shared list, so that a clone costs nothing. */
class Constraint implements TokenConstraint {
  readonly #masks: Masks
  #at: Accepted

  constructor(masks: Masks, place: TextPlace, at?: Accepted) {
    this.#masks = masks
    this.#at = at ?? { before: undefined, place, ended: false, budget: Infinity }
  }

  get done(): boolean {
    const { ended, place } = this.#at
    return ended || (place.state.accepting && place.state.next?.length === 0)
  }

  get shortest(): number {
    return this.#at.ended ? 0 : this.#masks.costs.of(this.#at.place.state)
  }

  mask(into: Uint32Array): void {
    atOnce(this.maskInSlices(into))
  }

  /** What it may take is counted from its beginning to its end, whatever others take in between. */
  *maskInSlices(into: Uint32Array): Slices<void> {
    const { machine } = this.#masks
    const { place, budget, ended } = this.#at
    if (ended) {
      into.fill(0)
      return
    }
    machine.allow(MASK_WORK)
    for (const work = this.#masks.fillInSlices(into, place, budget - 1); !work.next().done; ) {
      const { left } = machine.work
      yield
      machine.allow(left)
    }
  }

  accept(token: number): boolean {
    const { place, budget, ended } = this.#at
    if (ended) return false
    this.#masks.machine.allow(MASK_WORK)
    if (this.#masks.vocabulary.eos.includes(token)) {
      if (!place.state.accepting) return false
      this.#at = { before: this.#at, place, ended: true, budget }
      return true
    }
    const next = this.#masks.after(place, token)
    if (next === undefined || !this.#masks.affordable(next.state, budget - 1)) return false
    this.#at = { before: this.#at, place: next, ended: false, budget: budget - 1 }
    return true
  }

  forced(): Uint8Array {
    const { machine } = this.#masks
    const bytes: number[] = []
    let { place } = this.#at
    if (this.#at.ended) return new Uint8Array(0)
    machine.allow(MASK_WORK)
    while (bytes.length < LONGEST_RUN && !place.state.accepting && place.state.next?.length === 1) {
      const byte = place.state.next[0]!
      bytes.push(byte)
      place = advance(machine, place, byte)
    }
    return Uint8Array.from(bytes)
  }

  closing(budget: number): boolean {
    // Counting tokens takes longer than most masks, and only near the end does it matter.
    if (!this.#at.ended && !this.#masks.affordable(this.#at.place.state, budget)) return false
    this.#at = { ...this.#at, budget }
    return true
  }

  rollback(tokens: number): void {
    for (let i = 0; i < tokens; i++) {
      if (this.#at.before === undefined) throw new RangeError(`only ${i} tokens can be taken back`)
      this.#at = this.#at.before
    }
  }

  clone(): Constraint {
    return new Constraint(this.#masks, this.#at.place, this.#at)
  }
}
