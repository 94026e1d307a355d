import type { SchemaSource, TextPart } from '../../contract/index.js'
import { atOnce, getOrMake, mapped, type Slices } from '../../platform/index.js'
import type { CharSet } from '../automata/charset.js'
import { escapedTexts } from '../automata/escaped.js'
import { literalSet, oneCharacterOf } from '../automata/literals.js'
import { textsWithout } from '../automata/search.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import { PlainTextFrame } from '../automaton/plain-text.js'
import { inSequence, leaf, type Rule, repeated } from '../automaton/rule.js'
import { FIRST_TOKEN, TokenFrame } from '../automaton/token.js'
import type { Fuel } from '../fuel.js'
import { GrammarError } from '../grammar-error.js'
import { compileRegexInSlices } from '../regex/regex.js'
import type { SchemaError } from '../schema-error.js'
import { toBytes } from '../values/format.js'
import { type Documents, documentsOf } from './documents.js'
import { fixed, optionsInSlices } from './options.js'

/** More rounds than any text has. */
const MOST_ROUNDS = 100_000
const REGEX_COST = 200
const SET_COST = 20
/** Of texts that are one automaton. */
const MOST_LETTERS = 2000

/** What the languages of grammars are built of: rules of one grammar. */
export abstract class RuleParts {
  readonly fuel: Fuel
  /** The tokens without text, in the order of their symbols. */
  readonly tokens: string[] = []
  /** What lenient schemas could not enforce. */
  readonly notEnforced: SchemaError[] = []
  /** A schema may stand in several places. */
  readonly #documents = new Map<SchemaSource, Documents>()
  readonly #known: ((source: SchemaSource) => Slices<SchemaSource>) | undefined
  /** Inside a JSON string: characters stand as JSON writes them. */
  #quoted = false
  readonly #sets = new Map<string, TextAutomaton>()
  readonly #escaped = new Map<TextAutomaton, TextAutomaton>()

  /** `known` finds for a schema one that was compiled before. */
  constructor(fuel: Fuel, known?: (source: SchemaSource) => Slices<SchemaSource>) {
    this.fuel = fuel
    this.#known = known
  }

  /** What is kept of the schemas in it. */
  get bytes(): number {
    return [...this.#documents.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Drops what was only kept to be quick. */
  forget(): void {
    for (const { forget } of this.#documents.values()) forget()
  }

  /** Pauses every few milliseconds, as all that makes rules of texts. */
  abstract rule(part: TextPart): Slices<Rule>

  *rules(parts: readonly TextPart[]): Slices<Rule[]> {
    const rules: Rule[] = []
    for (const part of parts) rules.push(yield* this.rule(part))
    return rules
  }

  literal(text: string): Rule {
    if (/\p{Surrogate}/u.test(text)) throw new GrammarError('a text contains half of a character (a lone surrogate).')
    this.fuel.spend(text.length >> 2)
    return fixed(toBytes(this.#quoted ? JSON.stringify(text).slice(1, -1) : text))
  }

  protected *string(part: TextPart): Slices<Rule> {
    if (this.#quoted) throw new GrammarError("a 'quoted' is inside another.")
    const quote = this.literal('"')
    this.#quoted = true
    const inside = yield* this.rule(part)
    this.#quoted = false
    return inSequence([quote, inside, this.literal('"')])
  }

  #notQuoted(subject: string): void {
    if (this.#quoted) throw new GrammarError(`${subject} cannot be inside 'quoted'.`)
  }

  protected *choice(options: readonly TextPart[]): Slices<Rule> {
    if (listed(options, 'choice').length === 0) throw new GrammarError("'choice' is empty: it allows no text.")
    const texts = options.filter((option): option is string => typeof option === 'string')
    const others = yield* this.rules(options.filter((option) => typeof option !== 'string'))
    const letters = texts.reduce((sum, { length }) => sum + length, 0)
    // Some texts are one automaton, which knows what they share; many are found by their beginnings.
    if (texts.length < 2 || letters > MOST_LETTERS)
      return yield* this.optionsInSlices([...(yield* mapped(texts, (text) => this.literal(text))), ...others])
    return this.options([this.text(literalSet(texts, this.fuel)), ...others])
  }

  options(rules: readonly Rule[]): Rule {
    return atOnce(this.optionsInSlices(rules))
  }

  *optionsInSlices(rules: readonly Rule[]): Slices<Rule> {
    this.fuel.spend(rules.length)
    return yield* optionsInSlices(rules)
  }

  text(automaton: TextAutomaton): Rule {
    if (!this.#quoted) return leaf(PlainTextFrame.of(automaton))
    return leaf(PlainTextFrame.of(getOrMake(this.#escaped, automaton, () => escapedTexts(automaton, this.fuel))))
  }

  /** One character of a set: what is written a thousand times is one automaton. */
  characters(set: CharSet): Rule {
    return this.text(
      getOrMake(this.#sets, set.join(), () => {
        this.fuel.spend(SET_COST)
        return oneCharacterOf(set)
      }),
    )
  }

  free(words: readonly string[]): Rule {
    if (listed(words, 'without').some((word) => word === ''))
      throw new GrammarError("'without' contains an empty text.")
    return this.text(
      textsWithout(
        words.map((word) => worded(word, 'without')),
        this.fuel,
      ),
    )
  }

  /** `at`: what to say where it is wrong. */
  *regex(
    source: string,
    flags = '',
    place?: { readonly text: string; readonly at: number },
    longLines = false,
  ): Slices<Rule> {
    // Also where it is known already: reading it again takes its time.
    this.fuel.spend(REGEX_COST)
    try {
      const options = { flags, whole: true, longLines, shared: true }
      return this.text(yield* compileRegexInSlices(worded(source, 'regex'), this.fuel, options))
    } catch (error) {
      if (error instanceof TextError) throw new GrammarError(`/${source}/: ${error.message}`, place)
      throw error
    }
  }

  *document(source: SchemaSource): Slices<Rule> {
    this.#notQuoted('JSON')
    return leaf((yield* this.#documentsOf(source)).first)
  }

  *#documentsOf(source: SchemaSource): Slices<Documents> {
    const known = this.#documents.get(source)
    if (known !== undefined) return known
    const documents = yield* documentsOf(this.#known === undefined ? source : yield* this.#known(source))
    this.fuel.spend(documents.steps)
    this.notEnforced.push(...documents.notEnforced)
    this.#documents.set(source, documents)
    return documents
  }

  token(name: string): Rule {
    this.#notQuoted('a token')
    let index = this.tokens.indexOf(worded(name, 'token'))
    if (index < 0) index = this.tokens.push(name) - 1
    return leaf(new TokenFrame(FIRST_TOKEN + index))
  }

  repeated(body: Rule, min: number, max: number): Rule {
    const good = (count: number) => Number.isInteger(count) && count >= 0 && count <= MOST_ROUNDS
    if (!good(min) || !(good(max) || max === Infinity) || min > max) {
      throw new GrammarError(`from ${min} to ${max} times: that is no repetition of up to ${MOST_ROUNDS}.`)
    }
    return repeated(body, min, max)
  }
}

export function listed<T>(list: readonly T[], name: string): readonly T[] {
  if (!Array.isArray(list)) throw new GrammarError(`'${name}' must be a list.`)
  return list
}

export function worded(text: string, name: string): string {
  if (typeof text !== 'string') throw new GrammarError(`'${name}' must be a text.`)
  return text
}
