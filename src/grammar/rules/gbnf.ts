import type { Slices } from '../../platform/index.js'
import { EVERY, negate, normalise } from '../automata/charset.js'
import { inSequence, type Name, type Rule } from '../automaton/rule.js'
import { GrammarText } from './grammar-text.js'
import { RuleNames } from './names.js'
import type { RuleParts } from './parts.js'

/** A grammar as llama.cpp writes it: `root ::= "a" b | [0-9]+`. The texts are those of `root`. */
export function readGbnf(text: string, builder: RuleParts): Slices<Rule> {
  return new Gbnf(text, builder).read()
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  '"': '"',
  '[': '[',
  ']': ']',
}
const HEX = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
])
const MOST_DEPTH = 100
/** Some of them, or a comment. */
const BLANKS = /[ \t\r\n]+|#[^\r\n]*/y
const BLANKS_IN_LINE = /[ \t]+|#[^\r\n]*/y
/** There may be many thousands of options: most begin and end without a comment, and are texts without an escape. */
const BEFORE_BAR = /[ \t\r\n]*(?=\|)/y
const BAR = /[ \t\r\n]*\|[ \t\r\n]*(?![ \t\r\n#])/y
const PLAIN_TEXT = /"([^"\\]{0,500})"/y

class Gbnf {
  readonly #from: GrammarText
  readonly #builder: RuleParts
  readonly #names: RuleNames
  #depth = 0

  constructor(text: string, builder: RuleParts) {
    this.#from = new GrammarText(text)
    this.#builder = builder
    this.#names = new RuleNames(text)
  }

  *read(): Slices<Rule> {
    for (yield* this.#space(true); !this.#from.ended; yield* this.#space(true)) {
      const at = this.#from.at
      const name = this.#word()
      yield* this.#space(false)
      if (!this.#from.take('::=')) throw this.#from.wrong("'::=' is missing after the name of a rule.")
      yield* this.#space(true)
      const rule = yield* this.#choice()
      if (!this.#from.ended && !/[\r\n]/.test(this.#from.next!)) throw this.#from.unexpected()
      this.#names.define(name, rule, at)
    }
    return this.#names.close('root')
  }

  *#choice(): Slices<Rule> {
    if (++this.#depth > MOST_DEPTH) throw this.#from.wrong('the groups are nested too deeply.')
    const options = [yield* this.#sequence()]
    while (this.#from.skip(BAR) || (yield* this.#bar())) options.push(yield* this.#sequence())
    this.#depth--
    return yield* this.#builder.optionsInSlices(options)
  }

  /** A bar may also begin the next line. */
  *#bar(): Slices<boolean> {
    const before = this.#from.at
    yield* this.#space(true)
    if (this.#from.take('|')) {
      yield* this.#space(true)
      return true
    }
    this.#from.at = before
    yield* this.#space(this.#depth > 1)
    return false
  }

  *#sequence(): Slices<Rule> {
    const parts: Rule[] = []
    for (;;) {
      if (this.#from.tires()) yield
      const atom = yield* this.#atom()
      if (atom === undefined) return inSequence(parts)
      parts.push(this.#times(atom))
      if (this.#from.skip(BEFORE_BAR)) return inSequence(parts)
      yield* this.#space(this.#depth > 1)
    }
  }

  *#atom(): Slices<Rule | undefined> {
    const c = this.#from.next
    if (c === '"') return this.#builder.literal(this.#from.match(PLAIN_TEXT)?.[1] ?? (yield* this.#quoted()))
    if (c === '[') return yield* this.#characters()
    if (c === '.') {
      this.#from.at++
      return this.#builder.characters(EVERY)
    }
    if (c === '(') {
      this.#from.at++
      yield* this.#space(true)
      const rule = yield* this.#choice()
      yield* this.#space(true)
      if (!this.#from.take(')')) throw this.#from.wrong("')' is missing.")
      return rule
    }
    if (c === '<' || c === '!') throw this.#from.wrong('tokens, <...> and !<...>, are not supported.')
    return c !== undefined && /[a-zA-Z0-9-]/.test(c) ? this.#reference() : undefined
  }

  #reference(): Name {
    const at = this.#from.at
    return this.#names.mention(this.#word(), at)
  }

  #times(rule: Rule): Rule {
    const c = this.#from.next
    if (c === '*' || c === '+' || c === '?') {
      this.#from.at++
      return this.#times(this.#builder.repeated(rule, c === '+' ? 1 : 0, c === '?' ? 1 : Infinity))
    }
    if (c !== '{') return rule
    const match = this.#from.match(/\{\s*(\d+)\s*(?:(,)\s*(\d+)?\s*)?\}/y)
    if (match === undefined) throw this.#from.wrong('a repetition is written {2}, {2,} or {2,5}.')
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === undefined ? Infinity : Number(match[3])
    return this.#times(this.#builder.repeated(rule, min, max))
  }

  *#quoted(): Slices<string> {
    const from = this.#from.at++
    let text = ''
    while (!this.#from.take('"')) {
      if (this.#from.tires()) yield
      if (this.#from.ended) throw this.#from.wrong('the text is not closed.', from)
      text += String.fromCodePoint(this.#character())
    }
    return text
  }

  *#characters(): Slices<Rule> {
    const from = this.#from.at++
    const negated = this.#from.take('^')
    const ranges: number[] = []
    while (!this.#from.take(']')) {
      if (this.#from.tires()) yield
      if (this.#from.ended) throw this.#from.wrong("']' is missing.", from)
      const low = this.#character()
      const isRange = this.#from.next === '-' && this.#from.text[this.#from.at + 1] !== ']'
      if (isRange) this.#from.at++
      const high = isRange ? this.#character() : low
      if (high < low) throw this.#from.wrong('a range ends before it begins.')
      ranges.push(low, high)
    }
    const set = normalise(ranges)
    return this.#builder.characters(negated ? negate(set) : set)
  }

  #character(): number {
    const codePoint = this.#from.text.codePointAt(this.#from.at)
    if (codePoint === undefined) throw this.#from.wrong('a character is missing.')
    this.#from.at += codePoint > 0xffff ? 2 : 1
    if (codePoint !== 0x5c) return codePoint
    const c = this.#from.next ?? ''
    const digits = HEX.get(c)
    if (digits !== undefined) {
      const hex = this.#from.text.slice(this.#from.at + 1, this.#from.at + 1 + digits)
      const value = hex.length === digits && /^[0-9a-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : Infinity
      if (value > 0x10ffff) throw this.#from.wrong(`\\${c} takes ${digits} hexadecimal digits.`)
      this.#from.at += 1 + digits
      return value
    }
    const escaped = Object.hasOwn(ESCAPES, c) ? ESCAPES[c] : undefined
    if (escaped === undefined) throw this.#from.wrong(`the escape \\${c} is not known.`)
    this.#from.at++
    return escaped.charCodeAt(0)
  }

  #word(): string {
    const name = /^[a-zA-Z0-9-]+/.exec(this.#from.text.slice(this.#from.at, this.#from.at + 200))?.[0]
    if (name === undefined) throw this.#from.unexpected()
    this.#from.at += name.length
    return name
  }

  /** Blanks and comments. */
  *#space(lines: boolean): Slices<void> {
    while (this.#from.match(lines ? BLANKS : BLANKS_IN_LINE)) if (this.#from.tires()) yield
  }
}
