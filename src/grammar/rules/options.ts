import type { Slices } from '../../platform/index.js'
import { getOrMake } from '../../platform/index.js'
import { FixedFrame } from '../automaton/fixed.js'
import type { Bytes } from '../automaton/frame.js'
import { choiceOf, followedBy, type Headed, heads, leaf, type Name, NOTHING, type Rule } from '../automaton/rule.js'

export function fixed(bytes: Bytes): Rule {
  const frame = FixedFrame.of(bytes)
  return frame === undefined ? NOTHING : leaf(frame)
}

/** Options that are looked at from one pause to the next. */
const SLICE = 2048

/** A choice in which what options begin with alike stands once: many are then no more work than one. */
export function* optionsInSlices(options: readonly Rule[]): Slices<Rule> {
  if (options.length < 2) return choiceOf(options)
  const others: Rule[] = []
  const headed: Headed[] = []
  const byName = new Map<Name, Rule[]>()
  for (const [i, option] of options.entries()) {
    if (i % SLICE === SLICE - 1) yield
    const [first, rest] = option.kind === 'then' ? [option.first, option.rest] : [option, NOTHING]
    if (first.kind === 'leaf' && first.frame instanceof FixedFrame) headed.push({ head: first.frame.spell(), rest })
    else if (first.kind === 'name') getOrMake(byName, first, () => []).push(rest)
    else others.push(option)
  }
  for (const [name, rests] of byName) {
    if (others.length % SLICE === SLICE - 1) yield
    others.push(followedBy(name, rests.length < 2 ? rests[0]! : yield* optionsInSlices(rests)))
  }
  return choiceOf([...others, ...(yield* headsOf(headed))])
}

/** More than this are worth a tree. */
const FEW = 1

function* headsOf(options: readonly Headed[]): Slices<Rule[]> {
  if (options.length <= FEW) return options.map(({ head, rest }) => followedBy(fixed(head), rest))
  return [heads(yield* sorted(options))]
}

const isBehind = (a: Headed, b: Headed) => a.head > b.head

/** By their heads, those of one as they came: a list is sorted at once, so that parts of it are, and then merged. */
function* sorted(options: readonly Headed[]): Slices<readonly Headed[]> {
  if (options.length <= SLICE) return [...options].sort((a, b) => (isBehind(a, b) ? 1 : isBehind(b, a) ? -1 : 0))
  const middle = options.length >> 1
  const left = yield* sorted(options.slice(0, middle))
  yield
  const right = yield* sorted(options.slice(middle))
  if (!isBehind(left[left.length - 1]!, right[0]!)) return [...left, ...right]
  const merged: Headed[] = []
  for (let [i, j] = [0, 0]; i < left.length || j < right.length; ) {
    if (merged.length % SLICE === 0) yield
    const first = j === right.length || (i < left.length && !isBehind(left[i]!, right[j]!))
    merged.push(first ? left[i++]! : right[j++]!)
  }
  return merged
}
