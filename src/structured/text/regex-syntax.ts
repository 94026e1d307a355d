/** The parts of a regular expression, captures forgotten. */

import { type CharSet, WORD } from './charset.js'
import { TextError } from './types.js'

/** More optional parts in a row, or more rounds with assertions, than any real schema has. */
const MAX_PARTS = 200

export type Node =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'cat'; readonly parts: readonly Node[] }
  | { readonly kind: 'alt'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly body: Node; readonly min: number; readonly max: number }
  | { readonly kind: 'look'; readonly behind: boolean; readonly negative: boolean; readonly body: Node }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'word'; readonly negative: boolean }

const EMPTY: Node = { kind: 'cat', parts: [] }
export const NOTHING: Node = { kind: 'set', set: [] }

export function cat(parts: readonly Node[]): Node {
  const flat = parts.flatMap((part) => (part.kind === 'cat' ? part.parts : [part]))
  return flat.length === 1 ? flat[0]! : { kind: 'cat', parts: flat }
}

/** A choice; options that begin with the same character share it, so that a long list of words stays cheap. */
export function alt(options: readonly Node[]): Node {
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
  const grouped = [...byHead.values()].map((group) => (group.length === 1 ? group[0]! : factored(group)))
  return grouped.length === 1 ? grouped[0]! : { kind: 'alt', options: grouped }
}

function factored(group: readonly Node[]): Node {
  const head = group[0]!.kind === 'cat' ? group[0]!.parts[0] : group[0]!
  if (head?.kind !== 'set') return group[0]!
  return cat([head, alt(group.map((option) => (option.kind === 'cat' ? cat(option.parts.slice(1)) : EMPTY)))])
}

/** Whether a part can match without taking a character. */
export function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'set':
      return false
    case 'cat':
      return node.parts.every(canBeEmpty)
    case 'alt':
      return node.options.some(canBeEmpty)
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.body)
    default:
      return true
  }
}

/** What a part asserts where it matches without taking a character. */
function emptyPart(node: Node): Node {
  switch (node.kind) {
    case 'set':
      return NOTHING
    case 'cat':
      return cat(node.parts.map(emptyPart))
    case 'alt':
      return alt(node.options.filter(canBeEmpty).map(emptyPart))
    case 'repeat':
      return node.min === 0 ? EMPTY : emptyPart(node.body)
    default:
      return node
  }
}

/** The part, restricted to matches of at least one character. */
function nonEmpty(node: Node): Node {
  if (!canBeEmpty(node)) return node
  switch (node.kind) {
    case 'cat': {
      const [head, ...rest] = node.parts
      if (head === undefined) return NOTHING
      if (rest.length > MAX_PARTS) throw new TextError('too many optional parts inside a repetition')
      const tail = cat(rest)
      return alt([cat([nonEmpty(head), tail]), cat([emptyPart(head), nonEmpty(tail)])])
    }
    case 'alt':
      return alt(node.options.map(nonEmpty))
    case 'repeat':
      if (node.max === 0) return NOTHING
      if (node.min > 0 && !canBeEmpty(node.body)) return node
      return cat([nonEmpty(node.body), repeat(node.body, Math.max(0, node.min - 1), node.max - 1)])
    default:
      return NOTHING
  }
}

/** A repetition whose body always takes a character, so that counting it down ends. */
export function repeat(body: Node, min: number, max: number): Node {
  if (max === 0) return EMPTY
  if (min === 1 && max === 1) return body
  if (!canBeEmpty(body)) return { kind: 'repeat', body, min, max }
  const progress = nonEmpty(body)
  const free: Node = { kind: 'repeat', body: progress, min: 0, max }
  if (min === 0) return free
  const asserted = emptyPart(body)
  if (asserted.kind === 'cat' && asserted.parts.length === 0) return free
  if (min > MAX_PARTS) throw new TextError('too many repetitions of an assertion')
  // Some rounds may be empty, and then what they assert must hold where they stand.
  return cat([...new Array<Node>(min).fill(body), repeat(progress, 0, max - min)])
}

/** Every character class that decides where a text may go. */
export function collectSets(node: Node, into: Set<CharSet>): void {
  switch (node.kind) {
    case 'set':
      into.add(node.set)
      return
    case 'cat':
      for (const part of node.parts) collectSets(part, into)
      return
    case 'alt':
      for (const option of node.options) collectSets(option, into)
      return
    case 'repeat':
    case 'look':
      collectSets(node.body, into)
      return
    case 'word':
      into.add(WORD)
  }
}
