import { TextError } from '../automata/types.js'

/** Flags of a group, as Python and Rust have them: those that are on from here. */
interface Flags {
  readonly i: boolean
  readonly s: boolean
  readonly m: boolean
  readonly x: boolean
}

interface Group {
  readonly flags: Flags
  /** Parentheses that flags at its front have opened. */
  closes: number
  /** Something stands in it. */
  begun: boolean
}

const OF_OTHERS = /\(\?[P>#(a-zA-Z^-]|\\[AzZUapP]|\\x\{|[*+?}]\+|\{,\d|\[\^?\]|\[:\^?[a-z]+:\]/
const NONE: Flags = { i: false, s: false, m: false, x: false }
/** A bracket behind it, which ends the class: without that others read letters and colons. */
const POSIX =
  /^\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\](?=[^[\]]*\]|\[:)/
const FLAGS = /^\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])/
/** `$` and `^` at the ends of lines, for which ECMAScript has a flag alone. */
const LINE_START = '(?<![^\\n])'
const LINE_END = '(?![^\\n])'

/**
 * A regular expression as Python and Rust write them, in the words of ECMAScript (with its modifiers, `(?i:...)`, which not
 * every platform has yet). What is ECMAScript stays as it is; what cannot be said in it exactly is refused by its name.
 */
export function inEcmaScript(source: string): string {
  return OF_OTHERS.test(source) ? new Translator(source).whole() : source
}

class Translator {
  readonly #source: string
  readonly #groups: Group[] = [{ flags: NONE, closes: 0, begun: false }]
  #at = 0
  #inClass = false
  #out = ''
  /** Whether the last part may be repeated, and is. */
  #repeated = false

  constructor(source: string) {
    this.#source = source
  }

  whole(): string {
    while (this.#at < this.#source.length) this.#part()
    return this.#out + ')'.repeat(this.#groups[0]!.closes)
  }

  get #group(): Group {
    return this.#groups.at(-1)!
  }

  #part(): void {
    const c = this.#source[this.#at]!
    const { m, x } = this.#group.flags
    if (c === '\\') this.#escape()
    else if (c === '[') this.#class()
    else if (c === '(') this.#open()
    else if (c === ')') this.#close()
    else if (x && /\s/.test(c)) this.#at++
    else if (x && c === '#') this.#skipTo('\n')
    else if (m && c === '^') this.#say(LINE_START, 1)
    else if (m && c === '$') this.#say(LINE_END, 1)
    else if (!this.#quantifier()) this.#say(c, 1)
  }

  /** `text` stands for the next `length` characters. */
  #say(text: string, length: number): void {
    this.#group.begun = true
    this.#repeated = false
    this.#out += text
    this.#at += length
  }

  #skipTo(end: string): void {
    const at = this.#source.indexOf(end, this.#at)
    this.#at = at < 0 ? this.#source.length : at + end.length
  }

  #rest(): string {
    return this.#source.slice(this.#at)
  }

  #quantifier(): boolean {
    const found = /^(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d+\})/.exec(this.#rest())?.[0]
    if (found === undefined) return false
    const isMark = this.#repeated && (found === '?' || found === '+')
    this.#say(found.replace('{,', '{0,'), found.length)
    this.#repeated = !isMark
    return true
  }

  #escape(): void {
    const rest = this.#rest()
    const long = /^\\(?:U([0-9a-fA-F]{8})|x\{([0-9a-fA-F]{1,8})\})/.exec(rest)
    const hex = long?.[1] ?? long?.[2]
    if (hex !== undefined) {
      if (Number.parseInt(hex, 16) > 0x10ffff) throw new TextError(`the escape ${long![0]} is not a character`)
      this.#say(`\\u{${hex.replace(/^0+(?=.)/, '')}}`, long![0].length)
      return
    }
    const property = /^\\([pP])([A-Z])/.exec(rest)
    const script = /^\\([pP])\{(\^?)(\w+)\}/.exec(rest)
    const c = rest[1] ?? ''
    if (property) this.#say(`\\${property[1]}{${property[2]}}`, 3)
    else if (script && isScript(script[3]!)) {
      const isOther = (script[1] === 'P') !== (script[2] === '^')
      this.#say(`\\${isOther ? 'P' : 'p'}{Script=${script[3]}}`, script[0].length)
    } else if (c === 'a') this.#say('\\x07', 2)
    else if (this.#inClass) this.#say(rest.slice(0, 2), 2)
    else if (c === 'A') this.#say('^', 2)
    else if (c === 'z' || c === 'Z') this.#say('$', 2)
    else if (this.#group.flags.x && /[\s#]/.test(c)) this.#say(`\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`, 2)
    else {
      const both = Array.from(rest.slice(0, 3)).slice(0, 2).join('')
      this.#say(both, both.length)
    }
  }

  #class(): void {
    this.#inClass = true
    this.#say('[', 1)
    // A bracket that comes first is one of the class. Under the flag u ECMAScript has no other meaning for it.
    const first = /^(\^?)\](?=[^[\]]*\])/.exec(this.#rest())
    if (first) this.#say(`${first[1]}\\]`, first[0].length)
    while (this.#at < this.#source.length && this.#source[this.#at] !== ']') {
      const posix = POSIX.exec(this.#rest())?.[0]
      if (posix) throw new TextError(`${posix} has a meaning in Rust alone: write its characters, as in [A-Za-z]`)
      if (this.#source[this.#at] === '\\') this.#escape()
      else this.#say(this.#source[this.#at]!, 1)
    }
    this.#inClass = false
    if (this.#at < this.#source.length) this.#say(']', 1)
  }

  #open(): void {
    const rest = this.#rest()
    if (rest.startsWith('(?#')) {
      this.#skipTo(')')
      return
    }
    if (rest.startsWith('(?>')) {
      this.#say('(?>', 3)
      this.#groups.push({ flags: this.#group.flags, closes: 0, begun: false })
      return
    }
    if (rest.startsWith('(?(')) throw new TextError('the conditional group (?(...)...) is not supported')
    if (rest.startsWith('(?P')) {
      if (rest.startsWith('(?P='))
        throw new TextError(`the back-reference ${upToBracket(rest)} cannot be enforced exactly`)
      if (!rest.startsWith('(?P<')) throw new TextError(`the group ${rest.slice(0, 4)} is not supported`)
      this.#begin('(?<', 4, this.#group.flags)
      return
    }
    const flags = FLAGS.exec(rest)
    // `(?:` says nothing of flags.
    if (flags && flags[0] !== '(?:') this.#flags(flags[0], flags[1]!, flags[2] ?? '', flags[3] === ')')
    else this.#begin('(', 1, this.#group.flags)
  }

  #begin(text: string, length: number, flags: Flags): void {
    this.#say(text, length)
    this.#groups.push({ flags, closes: 0, begun: false })
    // What may follow is no part of it: `?:`, `?=`, `?<name>`.
    const kind = /^\?(?:[:=!]|<[=!]|<\w+>)|^\w+>/.exec(this.#rest())?.[0]
    if (kind === undefined || (length === 1 && !kind.startsWith('?'))) return
    this.#out += kind
    this.#at += kind.length
  }

  #flags(all: string, on: string, off: string, inline: boolean): void {
    const unknown = /[^ismxu]/.exec(on + off)
    if (unknown) throw new TextError(`the flag ${unknown[0]} of ${all} is not supported`)
    const { flags: before, begun } = this.#group
    const isOn = (flag: keyof Flags) => on.includes(flag) || (before[flag] && !off.includes(flag))
    const flags = { i: isOn('i'), s: isOn('s'), m: isOn('m'), x: isOn('x') }
    const own = (letters: string) => letters.replace(/[^is]/g, '')
    const modifiers = `(?${own(on)}${own(off) === '' ? '' : `-${own(off)}`}:`
    if (!inline) {
      this.#begin(modifiers, all.length, flags)
      return
    }
    if (begun) throw new TextError(`${all} is supported only at the beginning of a group: write (?${on}:...)`)
    this.#at += all.length
    const { closes } = this.#groups.pop()!
    this.#out += modifiers === '(?:' ? '' : modifiers
    this.#groups.push({ flags, closes: closes + (modifiers === '(?:' ? 0 : 1), begun: false })
  }

  #close(): void {
    const closes = this.#groups.length > 1 ? this.#groups.pop()!.closes : 0
    this.#say(')'.repeat(closes + 1), 1)
  }
}

/** ECMAScript wants to be told that a name is one of a script, but for those that are names of something else too. */
function isScript(name: string): boolean {
  const isProperty = (property: string): boolean => {
    try {
      return new RegExp(`\\p{${property}}`, 'u').source !== ''
    } catch {
      return false
    }
  }
  return !isProperty(name) && isProperty(`Script=${name}`)
}

const upToBracket = (rest: string): string => rest.slice(0, rest.indexOf(')') + 1).slice(0, 60)
