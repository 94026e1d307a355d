/**
 * Atomic groups, `(?>...)`, and possessive quantifiers, `a*+`, in words of lookaheads: of all the ways in which such a part
 * matches, a search takes the first and never another. The first is said exactly where loops go round parts that match in
 * one way: as often as it can be, so that there is no more often behind it.
 */
import { TextError } from '../automata/types.js'
import type { Node, NodeBuilder } from './regex-syntax.js'

/** Parts that one of them may come to, each way that is not taken counted. */
const MOST_PARTS = 2000

/** Keeps parts as they were written: options in the order in which they are tried. */
export const AS_WRITTEN: NodeBuilder = {
  cat: (parts) => ({ kind: 'cat', parts }),
  alt: (options) => ({ kind: 'alt', options }),
  repeat: (body, min, max, lazy) => ({ kind: 'repeat', body, min, max, lazy }),
}

/** What matches in one way alone, made here. */
const settled = new WeakSet<Node>()

/** The part, matched in the first way alone. */
export function atomic(part: Node, nodes: NodeBuilder): Node {
  const first = new Atomic().first([part])
  const made = nodes === AS_WRITTEN ? first : rebuilt(first, nodes)
  settled.add(made)
  return made
}

class Atomic {
  #parts = 0

  /** A row of parts, matched in the first way in which all of them match. */
  first([part, ...rest]: readonly Node[]): Node {
    if (part === undefined) return cat([])
    this.#count(1)
    if (isSingle(part)) return cat([part, this.first(rest)])
    if (part.kind === 'cat') return this.first([...part.parts, ...rest])
    if (part.kind === 'alt') {
      const ways = part.options.map((option, i) => {
        this.#count(i)
        const before = part.options.slice(0, i).map((other) => none([other, ...rest]))
        return cat([...before, this.first([option, ...rest])])
      })
      return { kind: 'alt', options: ways }
    }
    if (part.kind === 'repeat') return this.#loop(part, rest)
    return cat([part, this.first(rest)])
  }

  #count(parts: number): void {
    this.#parts += parts
    if (this.#parts > MOST_PARTS) throw unsaid('it has too many ways')
  }

  #loop({ body, min, max, lazy }: Extract<Node, { kind: 'repeat' }>, rest: readonly Node[]): Node {
    if (lazy) throw unsaid('a lazy quantifier in it is not supported')
    if (!isSingle(body)) throw unsaid('what it repeats may match in more than one length')
    if (canBeEmpty(body)) throw unsaid('what it repeats may be empty')
    const more = (most: number): Node => ({ kind: 'repeat', body, min: 0, max: most })
    const least: Node = { kind: 'repeat', body, min, max: min }
    if (max === Number.POSITIVE_INFINITY)
      return cat([least, more(max), none([body, more(max), ...rest]), this.first(rest)])
    this.#count(max - min)
    let ways = this.first(rest)
    const end = ways
    for (let left = 1; left <= max - min; left++) {
      ways = { kind: 'alt', options: [cat([body, ways]), cat([none([body, more(left - 1), ...rest]), end])] }
    }
    return cat([least, ways])
  }
}

const cat = (parts: readonly Node[]): Node => ({ kind: 'cat', parts })

const none = (parts: readonly Node[]): Node => ({ kind: 'look', behind: false, negative: true, body: cat(parts) })

const unsaid = (why: string) =>
  new TextError(`an atomic group or a possessive quantifier cannot be enforced exactly here: ${why}`)

/** Whether a part matches in one way at most, wherever it stands. */
function isSingle(node: Node): boolean {
  if (settled.has(node) || lengthOf(node) !== undefined) return true
  return node.kind === 'cat' && node.parts.every(isSingle)
}

/** Parts may be shared: none is looked at twice. */
function remembered<T>(find: (node: Node, again: (node: Node) => T) => T): (node: Node) => T {
  const known = new WeakMap<Node, { readonly found: T }>()
  const ask = (node: Node): T => {
    const before = known.get(node)
    if (before) return before.found
    const found = find(node, ask)
    known.set(node, { found })
    return found
  }
  return ask
}

/** How many characters a part takes, where it always takes as many. */
const lengthOf = remembered<number | undefined>((node, again) => {
  if (node.kind === 'set') return 1
  if (node.kind === 'cat') return sum(node.parts.map(again))
  if (node.kind === 'alt') {
    const [first, ...others] = node.options.map(again)
    return others.every((length) => length === first) ? first : undefined
  }
  if (node.kind === 'repeat') {
    const length = again(node.body)
    return length !== undefined && (node.min === node.max || length === 0) ? length * node.min : undefined
  }
  return 0
})

const canBeEmpty = remembered<boolean>((node, again) => {
  if (node.kind === 'cat') return node.parts.every(again)
  if (node.kind === 'alt') return node.options.some(again)
  return node.kind === 'repeat' ? node.min === 0 || again(node.body) : node.kind !== 'set'
})

const sum = (lengths: readonly (number | undefined)[]): number | undefined =>
  lengths.reduce((all, each) => (all === undefined || each === undefined ? undefined : all + each), 0)

/** The same tree by another builder. */
function rebuilt(node: Node, nodes: NodeBuilder, known = new Map<Node, Node>()): Node {
  const before = known.get(node)
  if (before !== undefined) return before
  const again = (each: Node) => rebuilt(each, nodes, known)
  const made =
    node.kind === 'cat'
      ? nodes.cat(node.parts.map(again))
      : node.kind === 'alt'
        ? nodes.alt(node.options.map(again))
        : node.kind === 'repeat'
          ? nodes.repeat(again(node.body), node.min, node.max, node.lazy ?? false)
          : node.kind === 'look'
            ? { ...node, body: again(node.body) }
            : node
  known.set(node, made)
  return made
}
