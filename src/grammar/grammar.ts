import type { GrammarSource, OutputGrammar, TokenConstraint, TokenVocabulary } from '../contract/index.js'
import { atOnce, type Slices } from '../platform/index.js'
import type { Machine } from './automaton/machine.js'
import { MASK_WORK, STEP_WORK } from './fuel.js'
import { GrammarError } from './grammar-error.js'
import type { SchemaError } from './schema-error.js'
import { Masks } from './tokens/masks.js'
import { Vocabulary } from './tokens/vocabulary.js'
import { advance, startPlace, type TextPlace } from './walk.js'

const encoder = new TextEncoder()

/** As long as so many steps it takes to make a state, or one thread of many. */
const STATE_STEPS = 30
/** And to count, the first time, with how many tokens a thread comes to its end. */
const COST_STEPS = 300

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
    machine.work.allow(STEP_WORK)
    for (const byte of encoder.encode(text)) {
      if (machine.work.tires()) {
        yield
        machine.work.allow(STEP_WORK)
      } else machine.work.limit(STEP_WORK)
      place = advanced(machine, place, byte)
      if (place.state.dead) return false
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

/**
 * Makes what is asked of a grammar first, with pauses: of hundreds of alternatives the text that they begin with takes long.
 * What is wrong with it is told whoever asks.
 */
export function* beginInSlices(grammar: OutputGrammar, vocabulary: TokenVocabulary): Slices<void> {
  const constraint = grammar.start(vocabulary)
  if (!(constraint instanceof Constraint)) return
  try {
    yield* constraint.beginInSlices()
  } catch (error) {
    if (!(error instanceof GrammarError || error instanceof RangeError)) throw error
  }
}

/** Others may use it meanwhile. */
function* pause(machine: Machine): Slices<void> {
  const { left } = machine.work
  yield
  machine.work.allow(left)
}

/** One byte further. Of an object with many keys each is planned anew, and many alternatives have a thread each. */
function advanced(machine: Machine, place: TextPlace, byte: number): TextPlace {
  const { kept } = machine
  const next = advance(machine, place, byte)
  const made = machine.kept - kept
  if (made > 0) machine.work.tire(STATE_STEPS * Math.max(made, next.state.cells.length))
  return next
}

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
    machine.work.allow(MASK_WORK)
    for (const work = this.#masks.fillInSlices(into, place, budget - 1); !work.next().done; ) yield* pause(machine)
  }

  accept(token: number): boolean {
    const { place, budget, ended } = this.#at
    if (ended) return false
    this.#masks.machine.work.allow(MASK_WORK)
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
    return Uint8Array.from(atOnce(this.#forcedInSlices()).bytes)
  }

  /** What `forced` finds, and how it can end from there. */
  *beginInSlices(): Slices<void> {
    const { costs, machine } = this.#masks
    const { state } = (yield* this.#forcedInSlices()).place
    for (const cell of state.cells) {
      costs.ofCell(cell)
      machine.work.tire(COST_STEPS)
      if (machine.work.tires()) yield* pause(machine)
    }
  }

  *#forcedInSlices(): Slices<{ readonly bytes: readonly number[]; readonly place: TextPlace }> {
    const { machine } = this.#masks
    const bytes: number[] = []
    let { place } = this.#at
    if (this.#at.ended) return { bytes, place }
    machine.work.allow(MASK_WORK)
    while (bytes.length < LONGEST_RUN && !place.state.accepting && place.state.next?.length === 1) {
      const byte = place.state.next[0]!
      bytes.push(byte)
      place = advanced(machine, place, byte)
      if (machine.work.tires()) yield* pause(machine)
    }
    return { bytes, place }
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
