/** The parts of a regular expression, captures forgotten. */

import { getOrMake } from '../../platform/index.js'
import { type CharSet, WORD } from '../automata/charset.js'
import { TextError } from '../automata/types.js'
import type { Fuel } from '../fuel.js'

/** More optional parts in a row, or more rounds with assertions, than any real schema has. */
const MAX_PARTS = 200

export type Node =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'cat'; readonly parts: readonly Node[] }
  | { readonly kind: 'alt'; readonly options: readonly Node[] }
  | {
      readonly kind: 'repeat'
      readonly body: Node
      readonly min: number
      readonly max: number
      readonly lazy?: boolean
    }
  | { readonly kind: 'look'; readonly behind: boolean; readonly negative: boolean; readonly body: Node }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'word'; readonly negative: boolean }

/** What the parser makes of the parts that it has read. */
export interface NodeBuilder {
  cat(parts: readonly Node[]): Node
  alt(options: readonly Node[]): Node
  repeat(body: Node, min: number, max: number, lazy: boolean): Node
}

const EMPTY: Node = { kind: 'cat', parts: [] }
const NOTHING: Node = { kind: 'set', set: [] }

export function isEmpty(node: Node): boolean {
  return node.kind === 'cat' && node.parts.length === 0
}

/**
 * Builds the tree of one regular expression. Parts are shared where a repetition needs them twice, so that what looks
 * like a tree of 2^20 parts may be twenty: nothing here may walk a part once per mention.
 */
export class Nodes implements NodeBuilder {
  private readonly fuel: Fuel
  private readonly empties = new Map<Node, boolean>()
  private readonly silents = new Map<Node, boolean>()
  private readonly progresses = new Map<Node, Node>()
  private readonly asserted = new Map<Node, Node>()

  constructor(fuel: Fuel) {
    this.fuel = fuel
  }

  cat(parts: readonly Node[]): Node {
    const flat = parts.flatMap((part) => (part.kind === 'cat' ? part.parts : [part]))
    this.fuel.spend(flat.length >> 2)
    return flat.length === 1 ? flat[0]! : { kind: 'cat', parts: flat }
  }

  /** A choice; options that begin with the same character share it, so that a long list of words stays cheap. */
  alt(choices: readonly Node[]): Node {
    const options = choices.flatMap((option) => (option.kind === 'alt' ? option.options : [option]))
    this.fuel.spend(options.length >> 2)
    if (options.length === 1) return options[0]!
    const byHead = new Map<CharSet | Node, Node[]>()
    for (const option of options) {
      const head = option.kind === 'cat' ? option.parts[0] : option
      const key = head?.kind === 'set' ? head.set : option
      const group = byHead.get(key)
      if (group === undefined) byHead.set(key, [option])
      else group.push(option)
    }
    if (byHead.size === options.length) return { kind: 'alt', options }
    const grouped = [...byHead.values()].map((group) => (group.length === 1 ? group[0]! : this.factored(group)))
    return grouped.length === 1 ? grouped[0]! : { kind: 'alt', options: grouped }
  }

  private factored(group: readonly Node[]): Node {
    const head = group[0]!.kind === 'cat' ? group[0]!.parts[0] : group[0]!
    if (head?.kind !== 'set') return group[0]!
    const rests = group.map((option) => (option.kind === 'cat' ? this.behindFirst(option.parts) : EMPTY))
    return this.cat([head, this.alt(rests)])
  }

  /** As `cat`, of what it has put together. */
  private behindFirst(parts: readonly Node[]): Node {
    this.fuel.spend((parts.length - 1) >> 2)
    return parts.length === 2 ? parts[1]! : { kind: 'cat', parts: parts.slice(1) }
  }

  /** Whether a part can match without taking a character. */
  canBeEmpty(node: Node): boolean {
    return getOrMake(this.empties, node, () => {
      switch (node.kind) {
        case 'set':
          return false
        case 'cat':
          return node.parts.every((part) => this.canBeEmpty(part))
        case 'alt':
          return node.options.some((option) => this.canBeEmpty(option))
        case 'repeat':
          return node.min === 0 || this.canBeEmpty(node.body)
        default:
          return true
      }
    })
  }

  /** Whether a part asserts nothing of what stands around it. */
  private isSilent(node: Node): boolean {
    return getOrMake(this.silents, node, () => {
      switch (node.kind) {
        case 'set':
          return true
        case 'cat':
          return node.parts.every((part) => this.isSilent(part))
        case 'alt':
          return node.options.every((option) => this.isSilent(option))
        case 'repeat':
          return this.isSilent(node.body)
        default:
          return false
      }
    })
  }

  /** What a part asserts where it matches without taking a character. */
  private emptyPart(node: Node): Node {
    return getOrMake(this.asserted, node, () => {
      switch (node.kind) {
        case 'set':
          return NOTHING
        case 'cat':
          return this.cat(node.parts.map((part) => this.emptyPart(part)))
        case 'alt':
          return this.alt(
            node.options.filter((option) => this.canBeEmpty(option)).map((option) => this.emptyPart(option)),
          )
        case 'repeat':
          return node.min === 0 ? EMPTY : this.emptyPart(node.body)
        default:
          return node
      }
    })
  }

  /** The part, restricted to matches of at least one character. */
  private nonEmpty(node: Node): Node {
    if (!this.canBeEmpty(node)) return node
    return getOrMake(this.progresses, node, () => {
      switch (node.kind) {
        case 'cat': {
          const [head, ...rest] = node.parts
          if (head === undefined) return NOTHING
          if (rest.length > MAX_PARTS) throw new TextError('too many optional parts inside a repetition')
          const tail = this.cat(rest)
          return this.alt([
            this.cat([this.nonEmpty(head), tail]),
            this.cat([this.emptyPart(head), this.nonEmpty(tail)]),
          ])
        }
        case 'alt':
          return this.alt(node.options.map((option) => this.nonEmpty(option)))
        case 'repeat':
          if (node.max === 0) return NOTHING
          if (node.min > 0 && !this.canBeEmpty(node.body)) return node
          return this.cat([this.nonEmpty(node.body), this.repeat(node.body, Math.max(0, node.min - 1), node.max - 1)])
        default:
          return NOTHING
      }
    })
  }

  /**
   * What any number of rounds of a part come to, each round of at least one character: of a row of optional parts each
   * round may as well take one alone. (Bruggemann-Klein's star normal form: as large as the part itself.)
   */
  private rounds(node: Node): Node {
    if (!this.canBeEmpty(node)) return node
    switch (node.kind) {
      case 'cat':
        return node.parts.length === 0 ? NOTHING : this.alt(node.parts.map((part) => this.rounds(part)))
      case 'alt':
        return this.alt(node.options.filter((option) => !isEmpty(option)).map((option) => this.rounds(option)))
      case 'repeat':
        return this.rounds(node.body)
      default:
        return NOTHING
    }
  }

  /** A repetition whose body always takes a character, so that counting it down ends. Lazy ones have the same language. */
  repeat(body: Node, min: number, max: number): Node {
    if (max === 0 || isEmpty(body)) return EMPTY
    if (min === 1 && max === 1) return body
    if (!this.canBeEmpty(body)) return { kind: 'repeat', body, min, max }
    if (this.isSilent(body) && max === 1) return body
    if (this.isSilent(body) && max === Number.POSITIVE_INFINITY) {
      return { kind: 'repeat', body: this.rounds(body), min: 0, max }
    }
    const progress = this.nonEmpty(body)
    const free: Node = { kind: 'repeat', body: progress, min: 0, max }
    if (min === 0 || isEmpty(this.emptyPart(body))) return free
    if (min > MAX_PARTS) throw new TextError('too many repetitions of an assertion')
    // Some rounds may be empty, and then what they assert must hold where they stand.
    return this.cat([...new Array<Node>(min).fill(body), this.repeat(progress, 0, max - min)])
  }
}

/** Every character class that decides where a text may go. */
export function collectSets(node: Node, into: Set<CharSet>, seen = new Set<Node>()): void {
  if (seen.has(node)) return
  seen.add(node)
  switch (node.kind) {
    case 'set':
      into.add(node.set)
      return
    case 'cat':
      for (const part of node.parts) collectSets(part, into, seen)
      return
    case 'alt':
      for (const option of node.options) collectSets(option, into, seen)
      return
    case 'repeat':
    case 'look':
      collectSets(node.body, into, seen)
      return
    case 'word':
      into.add(WORD)
  }
}
