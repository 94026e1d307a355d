import { normalise } from '../automata/charset.js'
import { choice, follow, type Name, NOTHING, nameOf, type Rule, repeat, sequence } from '../automaton/rule.js'
import { GrammarError } from '../grammar-error.js'
import type { Builder } from './builder.js'
import { COMMON } from './lark-common.js'
import { RuleNames } from './names.js'

/**
 * A grammar as Lark writes it. The texts are those of `start`, terminals taken as they fit (Lark's `dynamic_complete`),
 * and what `%ignore` names may stand before any terminal and at the end.
 */
export function lark(text: string, builder: Builder): Rule {
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
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', '\\': '\\', '"': '"' }

class Lark {
  readonly #text: string
  readonly #builder: Builder
  readonly #names: RuleNames
  readonly #ignored: Rule[] = []
  readonly #ignore: Name | undefined
  #at = 0
  #depth = 0
  /** Inside a terminal nothing is left out. */
  #inTerminal = false

  constructor(text: string, builder: Builder, names: RuleNames) {
    this.#text = text
    this.#builder = builder
    this.#names = names
    this.#ignore = /^\s*%ignore\b/m.test(text) ? nameOf('%ignore') : undefined
  }

  read(): Rule {
    for (this.#space(true); this.#at < this.#text.length; this.#space(true)) this.#statement()
    if (this.#ignore !== undefined) this.#ignore.rule = repeat(choice(this.#ignored), 0, Infinity)
    const start = this.#names.close('start')
    return this.#ignore === undefined ? start : follow(start, this.#ignore)
  }

  #statement(): void {
    const at = this.#at
    if (this.#text[at] === '%') this.#directive()
    else {
      const name = this.#match(RULE)?.[1] ?? this.#match(TERMINAL)?.[0]
      if (name === undefined) throw this.#wrong(this.#unexpected())
      if (this.#text[this.#at] === '{') throw this.#wrong('templates, name{...}, are not supported.')
      if (this.#text[this.#at] === '[') throw this.#wrong('attributes of a rule, name[...], are not supported.')
      this.#match(PRIORITY)
      this.#space(false)
      if (!this.#take(':')) throw this.#wrong(`':' is missing behind '${name}'.`)
      this.#inTerminal = isTerminal(name)
      this.#names.define(name, this.#choice(), at)
    }
    this.#lineEnd()
  }

  #directive(): void {
    const imported = this.#match(IMPORT)
    if (imported !== undefined) {
      const names =
        imported[1] === undefined ? (imported[2] ?? '').split(',').map((name) => name.trim()) : [imported[1]]
      for (const name of names) this.#import(name, imported[3] ?? name)
    } else if (this.#take('%ignore')) {
      this.#space(false)
      this.#inTerminal = true
      this.#ignored.push(this.#choice())
    } else {
      const word = /^%\w*/.exec(this.#text.slice(this.#at))![0]
      throw this.#wrong(`'${word}' is not supported: only '%ignore' and '%import common.NAME' are.`)
    }
  }

  #import(name: string, as: string): void {
    const source = COMMON.get(name)
    if (source === undefined) throw this.#wrong(`'common' has no '${name}'.`)
    this.#names.define(as, this.#builder.regex(source), this.#at)
  }

  #choice(): Rule {
    if (++this.#depth > MOST_DEPTH) throw this.#wrong('the groups are nested too deeply.')
    const options = [this.#sequence()]
    while (this.#bar()) options.push(this.#sequence())
    this.#depth--
    return choice(options)
  }

  /** A bar may also begin the next line. */
  #bar(): boolean {
    const before = this.#at
    this.#space(true)
    if (this.#take('|')) return true
    this.#at = before
    return false
  }

  #sequence(): Rule {
    const parts: Rule[] = []
    for (;;) {
      this.#space(this.#depth > 1)
      if (this.#match(ALIAS) !== undefined) continue
      const atom = this.#atom()
      if (atom === undefined) return sequence(parts)
      parts.push(this.#times(atom))
    }
  }

  #atom(): Rule | undefined {
    const c = this.#text[this.#at]
    if (c === '(' || c === '[') {
      this.#at++
      const rule = this.#choice()
      this.#space(true)
      if (!this.#take(c === '(' ? ')' : ']')) throw this.#wrong(`'${c === '(' ? ')' : ']'}' is missing.`)
      return c === '(' ? rule : choice([rule, NOTHING])
    }
    if (c === '%') return this.#document()
    if (c === '<') return this.#token()
    const at = this.#at
    const terminal = this.#match(TERMINAL)?.[0]
    if (terminal !== undefined) return this.#spaced(this.#names.mention(terminal, at))
    const rule = this.#match(RULE)?.[1]
    if (rule === undefined) return c === '"' || c === '/' ? this.#spaced(this.#literal()) : undefined
    if (this.#text[this.#at] === '{') throw this.#wrong('templates, name{...}, are not supported.')
    if (this.#inTerminal) throw this.#wrong(`a terminal cannot hold the rule '${rule}'.`)
    return this.#names.mention(rule, at)
  }

  #spaced(terminal: Rule): Rule {
    return this.#ignore === undefined || this.#inTerminal ? terminal : follow(this.#ignore, terminal)
  }

  #literal(): Rule {
    const at = this.#at
    const regex = this.#match(REGEX)
    if (regex !== undefined) return this.#builder.regex(regex[1]!, regex[2], { text: this.#text, at })
    const text = this.#string()
    if (this.#take('..')) {
      const [low, high] = [text, this.#string()].map((end) => Array.from(end, (letter) => letter.codePointAt(0)!))
      if (low?.length !== 1 || high?.length !== 1 || low[0]! > high[0]!) {
        throw this.#wrong('a range goes from one character to a later one.')
      }
      return this.#builder.characters(normalise([low[0]!, high[0]!]))
    }
    if (!/i(?!\w)/y.test(this.#text.slice(this.#at, this.#at + 2))) return this.#builder.literal(text)
    this.#at++
    return this.#builder.regex(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'i', { text: this.#text, at })
  }

  #string(): string {
    const at = this.#at
    const text = this.#match(STRING)?.[1]
    if (text === undefined) throw this.#wrong('a text in double quotes is missing.')
    return text.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gu, (_, x, u, long, c) => {
      const hex: string | undefined = x ?? u ?? long
      if (hex !== undefined && Number.parseInt(hex, 16) <= 0x10ffff)
        return String.fromCodePoint(Number.parseInt(hex, 16))
      if (hex === undefined && Object.hasOwn(ESCAPES, c)) return ESCAPES[c]!
      throw new GrammarError(`the escape \\${c ?? `U${hex}`} is not known.`, { text: this.#text, at })
    })
  }

  /** `%json { ... }`: a schema in its place. */
  #document(): Rule {
    if (!this.#take('%json')) throw this.#wrong('of these only %json { ... } may stand in a rule.')
    this.#space(true)
    const from = this.#at
    let open = 0
    do {
      const part = this.#match(/[^{}"]*(?:"(?:[^"\\]|\\.)*"|[{}])/y)?.[0]
      if (part === undefined)
        throw new GrammarError('the schema of %json is not closed.', { text: this.#text, at: from })
      open += part.endsWith('{') ? 1 : part.endsWith('}') ? -1 : 0
    } while (open > 0)
    let schema: unknown
    try {
      schema = JSON.parse(this.#text.slice(from, this.#at))
    } catch {
      throw new GrammarError('the schema of %json is not JSON.', { text: this.#text, at: from })
    }
    return this.#spaced(this.#builder.document({ schema }))
  }

  #token(): Rule {
    const name = this.#match(TOKEN)?.[0]
    if (name === undefined) throw this.#wrong(this.#unexpected())
    return this.#builder.token(name)
  }

  #times(rule: Rule): Rule {
    const c = this.#text[this.#at]
    if (c === '*' || c === '+' || c === '?') {
      this.#at++
      return this.#times(this.#builder.repeated(rule, c === '+' ? 1 : 0, c === '?' ? 1 : Infinity))
    }
    const before = this.#at
    this.#space(false)
    if (!this.#take('~')) {
      this.#at = before
      return rule
    }
    this.#space(false)
    const min = this.#match(NUMBER)?.[0]
    const max = this.#take('..') ? this.#match(NUMBER)?.[0] : min
    if (min === undefined || max === undefined) throw this.#wrong("a repetition is written '~ 2' or '~ 2..5'.")
    return this.#builder.repeated(rule, Number(min), Number(max))
  }

  #lineEnd(): void {
    this.#space(false)
    if (this.#at < this.#text.length && this.#text[this.#at] !== '\n') throw this.#wrong(this.#unexpected())
  }

  /** Blanks and comments. */
  #space(lines: boolean): void {
    this.#match(lines ? /(?:\s|\/\/[^\n]*|#[^\n]*)*/y : /(?:[ \t\r]|\\\n|\/\/[^\n]*|#[^\n]*)*/y)
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) return undefined
    this.#at = pattern.lastIndex
    return match
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

function isTerminal(name: string): boolean {
  return /^_*[A-Z]/.test(name)
}
