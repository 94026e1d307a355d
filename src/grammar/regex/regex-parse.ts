/**
 * ECMAScript's regular expressions, `u` or `v` flag, as a tree; those of Python and Rust are read where they say it in other
 * words. Syntax errors are left to the platform's own RegExp.
 */

import {
  type CharSet,
  caseless,
  caselessBeyond,
  DIGITS,
  DOT,
  EVERY,
  FOLDING_STEPS,
  negate,
  normalise,
  PROPERTY_STEPS,
  platformClass,
  propertiesOf,
  SPACE,
  sharedClass,
  unite,
  WORD,
} from '../automata/charset.js'
import { TextError } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { AS_WRITTEN, atomic } from './atomic.js'
import { type ClassContents, intersection, lessContents, NO_TEXTS, nodeOf, unionOfContents } from './class-contents.js'
import { inEcmaScript } from './dialects.js'
import { type Node, type NodeBuilder, Nodes } from './regex-syntax.js'

const MAX_DEPTH = 200
const MAX_COUNT = 100_000
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }
const CLASSES: Readonly<Record<string, CharSet>> = {
  d: DIGITS,
  D: negate(DIGITS),
  w: WORD,
  W: negate(WORD),
  s: SPACE,
  S: negate(SPACE),
}

/** The properties that more than one character may have. */
const OF_TEXTS =
  /\{(?:Basic_Emoji|Emoji_Keycap_Sequence|RGI_(?:Modifier_Sequence|Flag_Sequence|Emoji_Tag_Sequence|ZWJ_Sequence|Emoji).*)\}/

/**
 * `nodes` builds the tree: one that keeps the order of what is tried, for who needs more than the language. `shared`: its
 * classes have the characters on which ECMAScript, Python and Rust agree.
 */
export function parseRegex(
  written: string,
  fuel: Fuel,
  flags = '',
  nodes: NodeBuilder = new Nodes(fuel),
  dot = DOT,
  shared = false,
): Node {
  const unknown = /[^isuv]/.exec(flags)
  if (unknown !== null) throw new TextError(`the flag '${unknown[0]}' is not supported`)
  const sets = flags.includes('v')
  const source = sets ? written : inEcmaScript(written)
  if (sets && flags.includes('u')) throw new TextError("the flags 'u' and 'v' cannot be combined")
  return new Parser(
    source,
    sets ? !takes(source, 'v') : !isStrict(source),
    fuel,
    flags,
    nodes,
    dot,
    shared && !sets,
  ).parse()
}

/** Steps that the platform takes to read one mention of a property. */
const MENTION_STEPS = 200

/** Before anything reads the source, the platform included. */
export function payForProperties(source: string, fuel: Fuel): void {
  for (const [mention] of source.matchAll(/\\[pP]\{\w+(?:=\w+)?\}/g)) {
    fuel.spend(MENTION_STEPS)
    fuel.once(mention, PROPERTY_STEPS)
  }
}

/** Without modifiers, which not every platform has yet, atomic groups and possessive quantifiers, which are of other dialects. */
const asPlatformHas = (source: string, sets: boolean): string =>
  source.replace(
    /\\.|\[(?:\\.|[^\]\\])*\]|\(\?[is]*(?:-[is]+)?:|\(\?>|([*+?]|\{\d+(?:,\d*)?\})\+/gs,
    (found, quantifier: string | undefined) => {
      if (/^[\\[]/.test(found)) return found
      if (quantifier !== undefined) return sets ? found : quantifier
      return found === '(?>' && sets ? found : '(?:'
    },
  )

/** Throws what the platform says against it. */
function takes(source: string, flags: string): true {
  try {
    new RegExp(asPlatformHas(source, flags.includes('v')), flags)
    return true
  } catch (error) {
    throw new TextError(error instanceof Error ? error.message : 'invalid regular expression')
  }
}

/** Whether the `u` flag takes it. Real schemas hold `\-` and `\_` too, which only the looser Annex B grammar takes. */
function isStrict(source: string): boolean {
  try {
    new RegExp(asPlatformHas(source, false), 'u')
    return true
  } catch {
    return !takes(source, '')
  }
}

class Parser {
  private readonly chars: readonly string[]
  private readonly lenient: boolean
  private nodes: NodeBuilder
  private readonly fuel: Fuel
  private readonly plainDot: CharSet
  private dot: CharSet
  private caseless: boolean
  /** The `v` flag: classes are sets of their own. */
  private readonly sets: boolean
  private readonly shared: boolean
  /** Here it counts what is left out: a class has all that any dialect takes for it. */
  private wide = false
  /** Letters of the classes that stand in the class being read. */
  private readonly letters = new Set<string>()
  private readonly singles = new Map<number, CharSet>()
  private readonly caselessSingles = new Map<number, CharSet>()
  private at = 0
  private depth = 0

  constructor(
    source: string,
    lenient: boolean,
    fuel: Fuel,
    flags: string,
    nodes: NodeBuilder,
    dot: CharSet,
    shared: boolean,
  ) {
    this.chars = Array.from(source)
    this.lenient = lenient
    this.fuel = fuel
    this.nodes = nodes
    this.plainDot = dot
    this.dot = flags.includes('s') ? EVERY : dot
    this.caseless = flags.includes('i')
    this.sets = flags.includes('v')
    this.shared = shared
  }

  parse(): Node {
    const node = this.alternatives()
    if (this.at < this.chars.length) throw new TextError('unmatched )')
    return node
  }

  private take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.chars[this.at + i] !== text[i]) return false
    this.at += text.length
    return true
  }

  private alternatives(): Node {
    if (++this.depth > MAX_DEPTH) throw new TextError('the regular expression is nested too deeply')
    const options = [this.sequence()]
    while (this.take('|')) options.push(this.sequence())
    this.depth--
    return this.nodes.alt(options)
  }

  private sequence(): Node {
    const parts: Node[] = []
    for (let c = this.chars[this.at]; c !== undefined && c !== '|' && c !== ')'; c = this.chars[this.at]) {
      parts.push(this.quantified(this.atom()))
    }
    return this.nodes.cat(parts)
  }

  private quantified(node: Node): Node {
    const counts = this.quantifier()
    if (counts === undefined) return node
    const [min, max] = counts
    if (!this.sets && this.take('+')) return atomic({ kind: 'repeat', body: node, min, max }, this.nodes)
    return this.nodes.repeat(node, min, max, this.take('?'))
  }

  private quantifier(): [number, number] | undefined {
    if (this.take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.take('?')) return [0, 1]
    if (this.chars[this.at] !== '{') return undefined
    const end = this.chars.indexOf('}', this.at)
    const match = /^(\d+)(,(\d*))?$/.exec(this.chars.slice(this.at + 1, end === -1 ? this.at + 1 : end).join(''))
    if (match === null) return undefined
    this.at = end + 1
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3])
    if (min > MAX_COUNT || (max > MAX_COUNT && max !== Number.POSITIVE_INFINITY)) {
      throw new TextError(`a repetition of more than ${MAX_COUNT}`)
    }
    return [min, max]
  }

  private atom(): Node {
    const c = this.chars[this.at++]!
    if (c === '^') return { kind: 'start' }
    if (c === '$') return { kind: 'end' }
    if (c === '.') return { kind: 'set', set: this.dot }
    if (c === '(') return this.group()
    if (c === '[' && this.sets) return nodeOf(this.classSet(), this.nodes, (codePoint) => this.single(codePoint))
    if (c === '[') return { kind: 'set', set: this.characterClass() }
    if (c === '\\') return this.escape()
    return { kind: 'set', set: this.single(c.codePointAt(0)!) }
  }

  private group(): Node {
    let node: Node
    if (this.take('?:')) node = this.alternatives()
    else if (this.take('?>')) node = this.atomic()
    else if (this.take('?=')) node = this.look(false, false)
    else if (this.take('?!')) node = this.look(false, true)
    else if (this.take('?<=')) node = this.look(true, false)
    else if (this.take('?<!')) node = this.look(true, true)
    else if (this.take('?<')) {
      while (!this.take('>')) this.at++
      node = this.alternatives()
    } else if (this.take('?')) node = this.modified()
    else node = this.alternatives()
    if (!this.take(')')) throw new TextError('unterminated group')
    return node
  }

  /** `(?>...)`, behind its head. */
  private atomic(): Node {
    const { nodes } = this
    this.nodes = AS_WRITTEN
    const node = this.alternatives()
    this.nodes = nodes
    return atomic(node, nodes)
  }

  /** `(?i-s:...)`, behind the question mark. */
  private modified(): Node {
    const { dot, caseless } = this
    let on = true
    for (let c = this.chars[this.at++]; c !== ':'; c = this.chars[this.at++]) {
      if (c === '-') on = false
      else if (c === 'i') this.caseless = on
      else this.dot = on ? EVERY : this.plainDot
    }
    const node = this.alternatives()
    Object.assign(this, { dot, caseless })
    return node
  }

  private look(behind: boolean, negative: boolean): Node {
    if (negative) this.wide = !this.wide
    const body = this.alternatives()
    if (negative) this.wide = !this.wide
    return { kind: 'look', behind, negative, body }
  }

  private escape(): Node {
    const c = this.chars[this.at]
    if (c === 'b' || c === 'B') {
      this.at++
      if (this.caseless) return this.caselessBorder(c === 'B')
      return { kind: 'word', negative: c === 'B' }
    }
    if (c !== undefined && /[1-9k]/.test(c)) throw new TextError(`the back-reference \\${c} cannot be enforced exactly`)
    const set = this.classEscape()
    return { kind: 'set', set: set ?? this.single(this.characterEscape(false)) }
  }

  /** Where a word begins or ends: under the flag two more signs are of words. */
  private caselessBorder(negative: boolean): Node {
    const body: Node = { kind: 'set', set: caseless(WORD) }
    const sides = (before: boolean, after: boolean) =>
      this.nodes.cat([
        { kind: 'look', behind: true, negative: !before, body },
        { kind: 'look', behind: false, negative: !after, body },
      ])
    return this.nodes.alt([sides(true, negative), sides(false, !negative)])
  }

  /** `\d`, `\p{...}` and their like; undefined if the escape stands for one character. */
  private classEscape(): CharSet | undefined {
    const c = this.chars[this.at]!
    const known = CLASSES[c]
    if (known !== undefined) {
      this.at++
      if (this.shared) return this.sharedClass(c)
      if (c === 'W') return this.caseless ? negate(caseless(WORD)) : known
      return c === 'w' && this.caseless ? caseless(known) : known
    }
    if (c !== 'p' && c !== 'P') return undefined
    if (this.lenient) throw new TextError(`\\${c} in a regular expression that the u flag refuses`)
    const end = this.chars.indexOf('}', this.at)
    const name = this.chars.slice(this.at, end + 1).join('')
    this.at = end + 1
    if (this.caseless) throw new TextError(`\\${name} under the i flag is not supported`)
    if (OF_TEXTS.test(name)) throw new TextError(`\\${name}, a property of texts, is not supported`)
    return platformClass(`\\${name}`)
  }

  private sharedClass(letter: string): CharSet {
    const isContrary = letter !== letter.toLowerCase()
    if (this.wide !== isContrary)
      for (const name of propertiesOf(letter.toLowerCase())) this.fuel.once(name, PROPERTY_STEPS)
    this.letters.add(letter)
    const set = sharedClass(letter, this.wide)
    // Under the flag two more signs are of words, to all of them.
    return letter === 'w' && this.caseless ? caseless(set) : set
  }

  private characterEscape(inClass: boolean): number {
    const c = this.chars[this.at++]
    if (c === undefined) throw new TextError('\\ at the end')
    const control = CONTROLS[c]
    if (control !== undefined) return control
    if (c === 'b' && inClass) return 8
    if (c === '0' && !/\d/.test(this.chars[this.at] ?? '')) return 0
    if (c === 'c' && /[a-zA-Z]/.test(this.chars[this.at] ?? '')) return this.chars[this.at++]!.charCodeAt(0) % 32
    if (c === 'x') {
      const value = this.hex(2)
      if (value !== undefined) return value
    }
    if (c === 'u') {
      const value = this.unicodeEscape()
      if (value !== undefined) return value
    }
    // An escaped letter or digit without a meaning is most likely another dialect's: \A, \Z, \h, \Q.
    if (/[a-zA-Z0-9]/.test(c)) throw new TextError(`the escape \\${c} is not ECMAScript`)
    return c.codePointAt(0)!
  }

  private unicodeEscape(): number | undefined {
    if (this.chars[this.at] === '{') {
      if (this.lenient) return undefined
      const end = this.chars.indexOf('}', this.at)
      const value = Number.parseInt(this.chars.slice(this.at + 1, end).join(''), 16)
      this.at = end + 1
      return value
    }
    const high = this.hex(4)
    if (high === undefined || high < 0xd800 || high > 0xdbff || !this.take('\\u')) return high
    const low = this.hex(4)
    if (low !== undefined && low >= 0xdc00 && low <= 0xdfff) return (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000
    this.at -= low === undefined ? 2 : 6
    return high
  }

  private hex(digits: number): number | undefined {
    const text = this.chars.slice(this.at, this.at + digits).join('')
    if (text.length !== digits || !/^[0-9a-fA-F]+$/.test(text)) return undefined
    this.at += digits
    return Number.parseInt(text, 16)
  }

  private characterClass(): CharSet {
    const negated = this.take('^')
    if (negated) this.wide = !this.wide
    this.letters.clear()
    const sets: CharSet[] = []
    while (!this.take(']')) {
      if (this.at >= this.chars.length) throw new TextError('unterminated character class')
      const low = this.classAtom()
      if (this.chars[this.at] !== '-' || this.chars[this.at + 1] === ']') {
        sets.push(typeof low === 'number' ? this.single(low) : low)
        continue
      }
      this.at++
      const high = this.classAtom()
      if (typeof low === 'number' && typeof high === 'number') sets.push(this.range(low, high))
      // Annex B: a class escape beside a hyphen is no range.
      else for (const end of [low, high, 0x2d]) sets.push(typeof end === 'number' ? this.single(end) : end)
    }
    // A class and its contrary, `[\s\S]`, have every character between them.
    const isAll = ['s', 'd', 'w'].some((c) => this.letters.has(c) && this.letters.has(c.toUpperCase()))
    this.letters.clear()
    if (negated) this.wide = !this.wide
    const distinct = isAll ? [EVERY] : [...new Set(sets)]
    this.fuel.spend(distinct.reduce((sum, set) => sum + set.length, 0) >> 2)
    const all = unite(...distinct)
    return negated ? negate(all) : all
  }

  /** A class of the `v` flag, behind its bracket. */
  private classSet(): ClassContents {
    if (++this.depth > MAX_DEPTH) throw new TextError('the regular expression is nested too deeply')
    const negated = this.take('^')
    const parts: ClassContents[] = []
    while (!this.take(']')) {
      if (this.at >= this.chars.length) throw new TextError('unterminated character class')
      const minus = this.take('--')
      if (minus || this.take('&&')) {
        if (this.caseless) throw new TextError('operations on sets under the i flag are not supported')
        const [left, right] = [unionOfContents(parts), this.contents(this.classOperand())]
        parts.splice(0, parts.length, minus ? lessContents(left, right) : intersection(left, right))
        continue
      }
      const low = this.classOperand()
      if (typeof low === 'number' && this.chars[this.at] === '-' && this.chars[this.at + 1] !== '-') {
        this.at++
        parts.push(this.contents(this.range(low, this.classOperand() as number)))
      } else parts.push(this.contents(low))
    }
    this.depth--
    this.fuel.spend(parts.reduce((sum, { set, texts }) => sum + set.length + 8 * texts.size, 0) >> 2)
    const all = unionOfContents(parts)
    return negated ? { set: negate(all.set), texts: NO_TEXTS } : all
  }

  private contents(operand: number | CharSet | ClassContents): ClassContents {
    if (typeof operand === 'number') return { set: this.single(operand), texts: NO_TEXTS }
    return 'texts' in operand ? operand : { set: operand, texts: NO_TEXTS }
  }

  private classOperand(): number | CharSet | ClassContents {
    if (this.take('[')) return this.classSet()
    return this.take('\\q{') ? this.quoted() : this.classAtom()
  }

  /** `\q{a|bc}`, behind its brace. */
  private quoted(): ClassContents {
    const texts = ['']
    while (!this.take('}')) {
      if (this.take('|')) texts.push('')
      else texts[texts.length - 1] += String.fromCodePoint(this.classAtom() as number)
    }
    const single = texts.filter((text) => Array.from(text).length === 1)
    const sets = single.map((text) => this.single(text.codePointAt(0)!))
    return { set: unite(...sets), texts: new Set(texts.filter((text) => !single.includes(text))) }
  }

  private classAtom(): number | CharSet {
    const c = this.chars[this.at++]!
    if (c !== '\\') return c.codePointAt(0)!
    if (this.chars[this.at] === '-') {
      this.at++
      return 0x2d
    }
    return this.classEscape() ?? this.characterEscape(true)
  }

  private range(low: number, high: number): CharSet {
    const set = normalise([low, high])
    return this.caseless ? this.folded(set) : set
  }

  /** One object per character: equal heads of alternatives are found by identity. */
  private single(codePoint: number): CharSet {
    const known = this.caseless ? this.caselessSingles : this.singles
    let set = known.get(codePoint)
    if (set === undefined) {
      set = normalise([codePoint, codePoint])
      if (this.caseless) set = this.folded(set)
      known.set(codePoint, set)
    }
    return set
  }

  /** With all that the flag takes for the same; letters beyond ASCII are paid for where there are some. */
  private folded(set: CharSet): CharSet {
    if (set.at(-1)! < 0x80) return caseless(set)
    this.fuel.once('letters in both cases', FOLDING_STEPS)
    this.fuel.spend(64)
    return caselessBeyond(set)
  }
}
