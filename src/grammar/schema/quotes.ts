import { hasStretch, isStretch, type Slices } from '../../platform/index.js'
import { literalSet } from '../automata/literals.js'
import { stretchesOf } from '../automata/stretches-of.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { SchemaError } from '../schema-error.js'

/** Characters that are looked through for one step. */
const CHARACTERS_PER_STEP = 256

/** Those that were made last, while somebody has them: what is asked of one text field by field is compiled so, too. */
let latest: WeakRef<Quotes> | undefined

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])

/** The texts that strings may be quoted from. */
export class Quotes {
  readonly #texts: readonly string[]
  /** Whether all strings are quotes, but those that the schema spells out; else those of which it says so. */
  readonly all: boolean
  #automaton: TextAutomaton | undefined

  constructor({ texts, all = false }: { readonly texts: readonly string[]; readonly all?: boolean }) {
    this.#texts = texts
    this.all = all
  }

  /** The same with its automaton, made with a pause every few milliseconds. */
  static *compiled(of: { readonly texts: readonly string[]; readonly all?: boolean }): Slices<Quotes> {
    const quotes = new Quotes(of)
    const before = latest?.deref()
    if (before && isSame(before.#texts, of.texts)) {
      quotes.#automaton = before.#automaton
      return quotes
    }
    try {
      const stretches = yield* stretchesOf(of.texts)
      // Where there is nothing to quote, nothing is what is quoted.
      quotes.#automaton = stretches.empty ? literalSet(['']) : stretches
    } catch (error) {
      if (error instanceof TextError) throw new SchemaError([], 'x-quote', `${error.message}.`)
      throw error
    }
    latest = new WeakRef(quotes)
    return quotes
  }

  /** Of a schema that is compiled. */
  get automaton(): TextAutomaton {
    return this.#automaton!
  }

  /** Whether a text stands in one of them. */
  has(quote: string, fuel: Fuel): boolean {
    const look = (characters: number) => fuel.spend(Math.ceil(characters / CHARACTERS_PER_STEP))
    if (quote === '') {
      look(this.#texts.reduce((sum, text) => sum + text.length, 0))
      return !this.#texts.some(hasStretch)
    }
    return this.#texts.some((text) => isStretch(text, quote, look))
  }
}
