import { FixedFrame } from '../automaton/fixed.js'
import type { Bytes } from '../automaton/frame.js'
import { choice, follow, leaf, NOTHING, type Rule } from '../automaton/rule.js'
import { made } from '../kept.js'

/** These bytes, then the rest. */
export interface Headed {
  readonly head: Bytes
  readonly rest: Rule
}

export function fixed(bytes: Bytes): Rule {
  const frame = FixedFrame.of(bytes)
  return frame === undefined ? NOTHING : leaf(frame)
}

/** One rule for each first byte, in which what the heads share stands once. */
export function withHeads(options: readonly Headed[]): Rule[] {
  const byFirst = new Map<string, Headed[]>()
  for (const option of options) made(byFirst, option.head.slice(0, 1), () => []).push(option)
  return [...byFirst].flatMap(([first, same]) => {
    if (first === '') return same.map(({ rest }) => rest)
    const shared = sharedOf(same)
    const rests = same.map(({ head, rest }) => ({ head: head.slice(shared.length), rest }))
    return [follow(fixed(shared), same.length === 1 ? rests[0]!.rest : choice(withHeads(rests)))]
  })
}

/** What all heads begin with. */
function sharedOf(options: readonly Headed[]): Bytes {
  const [first, ...others] = options.map(({ head }) => head)
  let length = first!.length
  for (const other of others) {
    let same = 0
    while (same < length && first![same] === other[same]) same++
    length = same
  }
  return first!.slice(0, length)
}
