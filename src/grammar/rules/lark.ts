import type { Slices } from '../../platform/index.js'
import { normalise } from '../automata/charset.js'
import {
  choiceOf,
  followedBy,
  inSequence,
  type Name,
  NOTHING,
  type Rule,
  repeated,
  ruleNamed,
} from '../automaton/rule.js'
import { GrammarText } from './grammar-text.js'
import { COMMON } from './lark-common.js'
import { RuleNames } from './names.js'
import type { RuleParts } from './parts.js'

/**
 * A grammar as Lark writes it. The texts are those of `start`, terminals taken as they fit (Lark's `dynamic_complete`),
 * and what `%ignore` names may stand before any terminal and at the end.
 */
export function readLark(text: string, builder: RuleParts): Slices<Rule> {
  return new Lark(text, builder, new RuleNames(text)).read()
}

const MOST_DEPTH = 100
const RULE = /[?!]{0,2}(_{0,2}[a-z][a-z0-9_]*)/y
const TERMINAL = /_{0,2}[A-Z][A-Z0-9_]*/y
const STRING = /"((?:[^"\\\n]|\\[^\n])*)"/y
const REGEX = /\/((?:[^/\\\n]|\\[^\n])+)\/([a-z]*)/y
const PRIORITY = /\.-?\d+/y
const IMPORT = /%import\s+common\s*(?:\.\s*(\w+)|\(([\w\s,]*)\))(?:\s*->\s*(\w+))?/y
const NUMBER = /\d+/y
const ALIAS = /->\s*\w+/y
const TOKEN = /<[^\s<>]+>/y
/** And comments. */
const BLANKS = /(?:\s|\/\/[^\n]*|#[^\n]*)*/y
const BLANKS_IN_LINE = /(?:[ \t\r]|\\\n|\/\/[^\n]*|#[^\n]*)*/y
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gu
const IGNORES_CASE = /i(?!\w)/y
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', '\\': '\\', '"': '"' }

class Lark {
  readonly #from: GrammarText
  readonly #builder: RuleParts
  readonly #names: RuleNames
  readonly #ignored: Rule[] = []
  readonly #ignore: Name | undefined
  #depth = 0
  /** Inside a terminal nothing is left out. */
  #inTerminal = false

  constructor(text: string, builder: RuleParts, names: RuleNames) {
    this.#from = new GrammarText(text)
    this.#builder = builder
    this.#names = names
    this.#ignore = /^[ \t]*%ignore\b/m.test(text) ? ruleNamed('%ignore') : undefined
  }

  *read(): Slices<Rule> {
    for (this.#space(true); !this.#from.ended; this.#space(true)) yield* this.#statement()
    if (this.#ignore !== undefined) this.#ignore.rule = repeated(choiceOf(this.#ignored), 0, Infinity)
    const start = this.#names.close('start')
    return this.#ignore === undefined ? start : followedBy(start, this.#ignore)
  }

  *#statement(): Slices<void> {
    const at = this.#from.at
    if (this.#from.text[at] === '%') yield* this.#directive()
    else {
      const name = this.#from.match(RULE)?.[1] ?? this.#from.match(TERMINAL)?.[0]
      if (name === undefined) throw this.#from.unexpected()
      if (this.#from.next === '{') throw this.#from.wrong('templates, name{...}, are not supported.')
      if (this.#from.next === '[') throw this.#from.wrong('attributes of a rule, name[...], are not supported.')
      this.#from.match(PRIORITY)
      this.#space(false)
      if (!this.#from.take(':')) throw this.#from.wrong(`':' is missing after '${name}'.`)
      this.#inTerminal = isTerminal(name)
      this.#names.define(name, yield* this.#choice(), at)
    }
    this.#lineEnd()
  }

  *#directive(): Slices<void> {
    const imported = this.#from.match(IMPORT)
    if (imported !== undefined) {
      const names =
        imported[1] === undefined ? (imported[2] ?? '').split(',').map((name) => name.trim()) : [imported[1]]
      for (const name of names) yield* this.#import(name, imported[3] ?? name)
    } else if (this.#from.take('%ignore')) {
      this.#space(false)
      this.#inTerminal = true
      this.#ignored.push(yield* this.#choice())
    } else {
      const word = /^%\w*/.exec(this.#from.text.slice(this.#from.at))![0]
      throw this.#from.wrong(`'${word}' is not supported: only '%ignore' and '%import common.NAME' are.`)
    }
  }

  *#import(name: string, as: string): Slices<void> {
    const source = COMMON.get(name)
    if (source === undefined) throw this.#from.wrong(`'common' has no '${name}'.`)
    this.#names.define(as, yield* this.#builder.regex(source), this.#from.at)
  }

  *#choice(): Slices<Rule> {
    if (++this.#depth > MOST_DEPTH) throw this.#from.wrong('the groups are nested too deeply.')
    const options = [yield* this.#sequence()]
    while (this.#bar()) options.push(yield* this.#sequence())
    this.#depth--
    return yield* this.#builder.optionsInSlices(options)
  }

  /** A bar may also begin the next line. */
  #bar(): boolean {
    const before = this.#from.at
    this.#space(true)
    if (this.#from.take('|')) return true
    this.#from.at = before
    return false
  }

  *#sequence(): Slices<Rule> {
    const parts: Rule[] = []
    for (;;) {
      if (this.#from.tires()) yield
      this.#space(this.#depth > 1)
      if (this.#from.next === '-' && this.#from.match(ALIAS) !== undefined) continue
      const atom = yield* this.#atom()
      if (atom === undefined) return inSequence(parts)
      parts.push(this.#times(atom))
    }
  }

  *#atom(): Slices<Rule | undefined> {
    const c = this.#from.next
    if (c === '(' || c === '[') {
      this.#from.at++
      const rule = yield* this.#choice()
      this.#space(true)
      if (!this.#from.take(c === '(' ? ')' : ']')) throw this.#from.wrong(`'${c === '(' ? ')' : ']'}' is missing.`)
      return c === '(' ? rule : choiceOf([rule, NOTHING])
    }
    if (c === '%') return yield* this.#document()
    if (c === '<') return this.#token()
    if (c === '"' || c === '/') return this.#spaced(yield* this.#literal())
    const at = this.#from.at
    const terminal = this.#from.match(TERMINAL)?.[0]
    if (terminal !== undefined) return this.#spaced(this.#names.mention(terminal, at))
    const rule = this.#from.match(RULE)?.[1]
    if (rule === undefined) return undefined
    if (this.#from.next === '{') throw this.#from.wrong('templates, name{...}, are not supported.')
    if (this.#inTerminal) throw this.#from.wrong(`a terminal cannot contain the rule '${rule}'.`)
    return this.#names.mention(rule, at)
  }

  #spaced(terminal: Rule): Rule {
    return this.#ignore === undefined || this.#inTerminal ? terminal : followedBy(this.#ignore, terminal)
  }

  *#literal(): Slices<Rule> {
    const at = this.#from.at
    const regex = this.#from.next === '/' ? this.#from.match(REGEX) : undefined
    if (regex !== undefined) return yield* this.#builder.regex(regex[1]!, regex[2], { text: this.#from.text, at }, true)
    const text = this.#string()
    if (this.#from.take('..')) {
      const [low, high] = [text, this.#string()].map((end) => Array.from(end, (letter) => letter.codePointAt(0)!))
      if (low?.length !== 1 || high?.length !== 1 || low[0]! > high[0]!) {
        throw this.#from.wrong('a range goes from one character to a later one.')
      }
      return this.#builder.characters(normalise([low[0]!, high[0]!]))
    }
    if (this.#from.match(IGNORES_CASE) === undefined) return this.#builder.literal(text)
    const source = text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    return yield* this.#builder.regex(source, 'i', { text: this.#from.text, at })
  }

  #string(): string {
    const at = this.#from.at
    const text = this.#from.match(STRING)?.[1]
    if (text === undefined) throw this.#from.wrong('a text in double quotes is missing.')
    if (!text.includes('\\')) return text
    return text.replace(ESCAPE, (_, x, u, long, c) => {
      const hex: string | undefined = x ?? u ?? long
      if (hex !== undefined && Number.parseInt(hex, 16) <= 0x10ffff)
        return String.fromCodePoint(Number.parseInt(hex, 16))
      if (hex === undefined && Object.hasOwn(ESCAPES, c)) return ESCAPES[c]!
      throw this.#from.wrong(`the escape \\${c ?? `U${hex}`} is not known.`, at)
    })
  }

  /** `%json { ... }`: a schema in its place. */
  *#document(): Slices<Rule> {
    if (!this.#from.take('%json')) throw this.#from.wrong('only %json { ... } is allowed in a rule.')
    this.#space(true)
    const from = this.#from.at
    let open = 0
    do {
      const part = this.#from.match(/[^{}"]*(?:"(?:[^"\\]|\\.)*"|[{}])/y)?.[0]
      if (part === undefined) throw this.#from.wrong('the schema of %json is not closed.', from)
      open += part.endsWith('{') ? 1 : part.endsWith('}') ? -1 : 0
    } while (open > 0)
    let schema: unknown
    try {
      schema = JSON.parse(this.#from.text.slice(from, this.#from.at))
    } catch {
      throw this.#from.wrong('the schema of %json is not JSON.', from)
    }
    return this.#spaced(yield* this.#builder.document({ schema }))
  }

  #token(): Rule {
    const name = this.#from.match(TOKEN)?.[0]
    if (name === undefined) throw this.#from.unexpected()
    return this.#builder.token(name)
  }

  #times(rule: Rule): Rule {
    const c = this.#from.next
    if (c === '*' || c === '+' || c === '?') {
      this.#from.at++
      return this.#times(this.#builder.repeated(rule, c === '+' ? 1 : 0, c === '?' ? 1 : Infinity))
    }
    const before = this.#from.at
    this.#space(false)
    if (!this.#from.take('~')) {
      this.#from.at = before
      return rule
    }
    this.#space(false)
    const min = this.#from.match(NUMBER)?.[0]
    const max = this.#from.take('..') ? this.#from.match(NUMBER)?.[0] : min
    if (min === undefined || max === undefined) throw this.#from.wrong("a repetition is written '~ 2' or '~ 2..5'.")
    return this.#builder.repeated(rule, Number(min), Number(max))
  }

  #lineEnd(): void {
    this.#space(false)
    if (!this.#from.ended && this.#from.next !== '\n') throw this.#from.unexpected()
  }

  #space(lines: boolean): void {
    this.#from.skip(lines ? BLANKS : BLANKS_IN_LINE)
  }
}

function isTerminal(name: string): boolean {
  return /^_*[A-Z]/.test(name)
}
