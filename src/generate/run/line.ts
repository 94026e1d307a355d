import { callerOf, callOf, type Slot } from './slot.js'

/**
 * How many calls that need little may go before one that waits for room, in its whole life. A long answer waits for others
 * that are as long, so a few short ones cost it next to nothing; after these it is its turn, whoever else comes.
 */
export const MAY_BE_PASSED = 32

/** Whether a call that has not begun finds its place in an equal share of the cache. */
export function needsLittle({ started, lane }: Slot, share: number): boolean {
  return !started && lane.tokens.length < share
}

/**
 * Those that wait, in the order in which they may begin: as they came, but where somebody waits for room, those that need
 * little go first; who was passed often enough goes before these. Of those that are alike whoever has the fewest goes first,
 * what goes before in this line counted; further choices of a call that runs come last.
 */
export function inLine(waiting: readonly Slot[], running: readonly Slot[], share: number): readonly Slot[] {
  const have = new Set(running.map(callOf))
  const short = waiting.some(({ lacksRoom }) => lacksRoom)
  const rank = (slot: Slot) => {
    if (have.has(callOf(slot))) return 3
    if (slot.lacksRoom && slot.passed >= MAY_BE_PASSED) return 0
    return short && needsLittle(slot, share) ? 1 : 2
  }
  const held = new Map<unknown, number>()
  const count = (slot: Slot) => {
    const before = held.get(callerOf(slot)) ?? 0
    held.set(callerOf(slot), before + 1)
    return before
  }
  running.forEach(count)
  return waiting
    .map((slot) => ({ slot, rank: rank(slot), has: count(slot) }))
    .sort((a, b) => a.rank - b.rank || a.has - b.has)
    .map(({ slot }) => slot)
}
