import { getOrMake } from '../../platform/index.js'
import type { TextAutomaton } from './types.js'

const counts = new WeakMap<TextAutomaton, Map<number, number>>()

/** How many texts are accepted from a state; `Infinity` also where counting them would be idle. */
export function countTexts(text: TextAutomaton, state: number): number {
  const known = getOrMake(counts, text, () => new Map([[0, 0]]))
  // A repetition is one for a state and those above it: reaching a state that is being counted means no end.
  const count = (at: number): number => {
    const before = known.get(at)
    if (before !== undefined) return before
    known.set(at, Infinity)
    let sum = text.accepts(at) ? 1 : 0
    for (let cls = 1; cls < text.classes.count && sum < ENOUGH; cls++) {
      const next = text.step(at, cls)
      if (next !== 0) sum += text.classes.size(cls) * count(next)
    }
    const total = sum >= ENOUGH ? Infinity : sum
    known.set(at, total)
    return total
  }
  return count(state)
}

/** No object uses more keys than this. */
const ENOUGH = 1_000_000
