/** The parts of a pattern in the order in which they are tried: which way is taken counts here, not the language alone. */
import type { CharSet } from '../automata/charset.js'
import { EVERY, negate, WORD } from '../automata/charset.js'
import type { Node, NodeBuilder } from '../regex/regex-syntax.js'

const ANY: Node = { kind: 'set', set: EVERY }

export class OrderedNodes implements NodeBuilder {
  /** `(?=[a-z])[^x]`, as sets that are cut out of sets are often written, is a set. */
  cat(parts: readonly Node[]): Node {
    const folded: Node[] = []
    for (const part of parts.flatMap((part) => (part.kind === 'cat' ? part.parts : [part]))) {
      let node = part
      for (let before = folded.at(-1); node.kind === 'set' && isLookAtOne(before); before = folded.at(-1)) {
        node = { kind: 'set', set: common(node.set, before.negative ? negate(before.body.set) : before.body.set) }
        folded.pop()
      }
      folded.push(node)
    }
    return folded.length === 1 ? folded[0]! : { kind: 'cat', parts: folded }
  }

  /** Of sets side by side it is all one which of them takes a character. */
  alt(choices: readonly Node[]): Node {
    const options: Node[] = []
    for (const option of choices) {
      const before = options.at(-1)
      if (option.kind === 'set' && before?.kind === 'set') {
        options[options.length - 1] = { kind: 'set', set: negate(common(negate(before.set), negate(option.set))) }
      } else options.push(option)
    }
    return options.length === 1 ? options[0]! : { kind: 'alt', options }
  }

  repeat(body: Node, min: number, max: number, lazy: boolean): Node {
    return { kind: 'repeat', body, min, max, lazy }
  }
}

type LookAtOne = Node & { kind: 'look'; body: Node & { kind: 'set' } }

function isLookAtOne(node: Node | undefined): node is LookAtOne {
  return node?.kind === 'look' && !node.behind && node.body.kind === 'set'
}

/** What both hold. */
function common(a: CharSet, b: CharSet): CharSet {
  const ranges: number[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const low = Math.max(a[i]!, b[j]!)
    const high = Math.min(a[i + 1]!, b[j + 1]!)
    if (low <= high) ranges.push(low, high)
    if (a[i + 1]! < b[j + 1]!) i += 2
    else j += 2
  }
  return ranges
}

const look = (behind: boolean, negative: boolean, body: Node): Node => ({ kind: 'look', behind, negative, body })
const WORDS: Node = { kind: 'set', set: WORD }
const both = (before: boolean, after: boolean): Node => ({
  kind: 'cat',
  parts: [look(true, !before, WORDS), look(false, !after, WORDS)],
})

/** What else stands between characters, as a look to both sides. */
export const START = look(true, true, ANY)
export const END = look(false, true, ANY)
export const EDGE: Node = { kind: 'alt', options: [both(true, false), both(false, true)] }
export const NO_EDGE: Node = { kind: 'alt', options: [both(true, true), both(false, false)] }
