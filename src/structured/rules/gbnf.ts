import { EVERY, negate, normalise } from '../automata/charset.js'
import { choice, type Name, type Rule, sequence } from '../automaton/rule.js'
import { GrammarError } from '../grammar-error.js'
import type { Builder } from './builder.js'
import { RuleNames } from './names.js'

/** A grammar as llama.cpp writes it: `root ::= "a" b | [0-9]+`. The texts are those of `root`. */
export function gbnf(text: string, builder: Builder): Rule {
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

class Gbnf {
  readonly #text: string
  readonly #builder: Builder
  readonly #names: RuleNames
  #at = 0
  #depth = 0

  constructor(text: string, builder: Builder) {
    this.#text = text
    this.#builder = builder
    this.#names = new RuleNames(text)
  }

  read(): Rule {
    for (this.#space(true); this.#at < this.#text.length; this.#space(true)) {
      const at = this.#at
      const name = this.#word()
      this.#space(false)
      if (!this.#take('::=')) throw this.#wrong("'::=' is missing behind the name of a rule.")
      this.#space(true)
      const rule = this.#choice()
      if (this.#at < this.#text.length && !/[\r\n]/.test(this.#text[this.#at]!)) throw this.#wrong(this.#unexpected())
      this.#names.define(name, rule, at)
    }
    return this.#names.close('root')
  }

  #choice(): Rule {
    if (++this.#depth > MOST_DEPTH) throw this.#wrong('the groups are nested too deeply.')
    const options = [this.#sequence()]
    while (this.#peekBar()) {
      this.#at++
      this.#space(true)
      options.push(this.#sequence())
    }
    this.#depth--
    return choice(options)
  }

  /** A bar may also begin the next line. */
  #peekBar(): boolean {
    const before = this.#at
    this.#space(true)
    if (this.#text[this.#at] === '|') return true
    this.#at = before
    this.#space(this.#depth > 1)
    return false
  }

  #sequence(): Rule {
    const parts: Rule[] = []
    for (;;) {
      const atom = this.#atom()
      if (atom === undefined) return sequence(parts)
      parts.push(this.#times(atom))
      this.#space(this.#depth > 1)
    }
  }

  #atom(): Rule | undefined {
    const c = this.#text[this.#at]
    if (c === '"') return this.#builder.literal(this.#quoted())
    if (c === '[') return this.#characters()
    if (c === '.') {
      this.#at++
      return this.#builder.characters(EVERY)
    }
    if (c === '(') {
      this.#at++
      this.#space(true)
      const rule = this.#choice()
      this.#space(true)
      if (!this.#take(')')) throw this.#wrong("')' is missing.")
      return rule
    }
    if (c === '<' || c === '!') throw this.#wrong('tokens, <...> and !<...>, are not supported.')
    return c !== undefined && /[a-zA-Z0-9-]/.test(c) ? this.#reference() : undefined
  }

  #reference(): Name {
    const at = this.#at
    return this.#names.mention(this.#word(), at)
  }

  #times(rule: Rule): Rule {
    const c = this.#text[this.#at]
    if (c === '*' || c === '+' || c === '?') {
      this.#at++
      return this.#times(this.#builder.repeated(rule, c === '+' ? 1 : 0, c === '?' ? 1 : Infinity))
    }
    if (c !== '{') return rule
    const match = /^\{\s*(\d+)\s*(?:(,)\s*(\d+)?\s*)?\}/.exec(this.#text.slice(this.#at))
    if (match === null) throw this.#wrong('a repetition is written {2}, {2,} or {2,5}.')
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === undefined ? Infinity : Number(match[3])
    const repeated = this.#builder.repeated(rule, min, max)
    this.#at += match[0].length
    return this.#times(repeated)
  }

  #quoted(): string {
    const from = this.#at++
    let text = ''
    while (!this.#take('"')) {
      if (this.#at >= this.#text.length)
        throw new GrammarError('the text is not closed.', { text: this.#text, at: from })
      text += String.fromCodePoint(this.#character())
    }
    return text
  }

  #characters(): Rule {
    const from = this.#at++
    const negated = this.#take('^')
    const ranges: number[] = []
    while (!this.#take(']')) {
      if (this.#at >= this.#text.length) throw new GrammarError("']' is missing.", { text: this.#text, at: from })
      const low = this.#character()
      const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']'
      if (isRange) this.#at++
      const high = isRange ? this.#character() : low
      if (high < low) throw this.#wrong('a range ends before it begins.')
      ranges.push(low, high)
    }
    const set = normalise(ranges)
    return this.#builder.characters(negated ? negate(set) : set)
  }

  #character(): number {
    const codePoint = this.#text.codePointAt(this.#at)
    if (codePoint === undefined) throw this.#wrong('a character is missing.')
    this.#at += codePoint > 0xffff ? 2 : 1
    if (codePoint !== 0x5c) return codePoint
    const c = this.#text[this.#at] ?? ''
    const digits = HEX.get(c)
    if (digits !== undefined) {
      const hex = this.#text.slice(this.#at + 1, this.#at + 1 + digits)
      const value = hex.length === digits && /^[0-9a-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : Infinity
      if (value > 0x10ffff) throw this.#wrong(`\\${c} takes ${digits} hexadecimal digits.`)
      this.#at += 1 + digits
      return value
    }
    const escaped = Object.hasOwn(ESCAPES, c) ? ESCAPES[c] : undefined
    if (escaped === undefined) throw this.#wrong(`the escape \\${c} is not known.`)
    this.#at++
    return escaped.charCodeAt(0)
  }

  #word(): string {
    const name = /^[a-zA-Z0-9-]+/.exec(this.#text.slice(this.#at, this.#at + 200))?.[0]
    if (name === undefined) throw this.#wrong(this.#unexpected())
    this.#at += name.length
    return name
  }

  /** Blanks and comments. */
  #space(lines: boolean): void {
    const blank = lines ? /[ \t\r\n]/ : /[ \t]/
    for (;;) {
      const c = this.#text[this.#at]
      if (c === '#') while (this.#at < this.#text.length && !/[\r\n]/.test(this.#text[this.#at]!)) this.#at++
      else if (c !== undefined && blank.test(c)) this.#at++
      else return
    }
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #unexpected(): string {
    const found = this.#text[this.#at]
    return found === undefined ? 'the grammar ends too early.' : `'${found}' was not expected here.`
  }

  #wrong(message: string): GrammarError {
    return new GrammarError(message, { text: this.#text, at: this.#at })
  }
}
