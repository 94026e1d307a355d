import type { Sequence } from '../../contract/index.js'
import type { Lane } from '../answer/lane.js'
import type { Drafted } from '../drafts/path.js'

/** A lane's place in the scheduler. */
export interface Slot {
  readonly lane: Lane
  /** Of the first choice: a call is known by it, and the others wait for its prompt and share it. */
  readonly call: Slot
  /** Whose it is; where nobody says, each call is somebody's of its own. */
  readonly owner: string | Slot
  sequence: Sequence | undefined
  cancelled: boolean
  /** What the cache holds of it is no number: no other call may go on from there. */
  spoilt: boolean
  /** It has had a sequence before. */
  started: boolean
  /** It waits because there was no room for it in the cache. */
  lacksRoom: boolean
  /** How many calls that came later began while it waited for room. */
  passed: number
  /** What the last step fed beyond the lane's own tokens. */
  drafted: Drafted | undefined
  /** The last step that it had a part in. */
  stepped: number
  readonly released: Promise<void>
  readonly release: () => void
}

export function makeSlot(lane: Lane, first?: Slot, caller?: string): Slot {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const slot: Omit<Slot, 'call' | 'owner'> = {
    lane,
    sequence: undefined,
    cancelled: false,
    spoilt: false,
    started: false,
    lacksRoom: false,
    passed: 0,
    drafted: undefined,
    stepped: 0,
    released,
    release,
  }
  const call = first ?? (slot as Slot)
  return Object.assign(slot, { call, owner: first?.owner ?? caller ?? call })
}

/** Tokens that the cache does not hold yet. */
export function pending(slot: Slot): number {
  return (slot.lane.reads ?? slot.lane.tokens.length) - (slot.sequence?.length ?? 0)
}

/** Takes back what the lane has replaced, and leaves at least one token to be fed, for its logits. */
export function sync(slot: Slot): void {
  const { lane, sequence, drafted } = slot
  slot.drafted = undefined
  if (sequence === undefined) return
  const good = Math.min(drafted ? commonWith(lane, sequence, drafted) : lane.kept, lane.tokens.length - 1)
  if (sequence.length > good) sequence.truncate(good)
  lane.settle()
  lane.holds?.(sequence.length)
}

/** How many of the tokens in the cache the lane has now. */
function commonWith({ kept, tokens }: Lane, { length }: Sequence, drafted: Drafted): number {
  const base = length - drafted.tokens.length
  if (kept < base) return kept
  let good = base
  while (good < length && tokens[good] === drafted.tokens[good - base]) good++
  return good
}

/** Whether the prompt that other choices of the call share is in the cache. */
export function promptIsIn(slot: Slot): boolean {
  return (slot.sequence?.length ?? 0) >= slot.lane.promptLength - 1
}

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
  if (waiting.length < 2) return [...waiting]
  const have = new Set(running.map(({ call }) => call))
  const short = waiting.some(({ lacksRoom }) => lacksRoom)
  const rank = (slot: Slot) => {
    if (have.has(slot.call)) return 3
    if (slot.lacksRoom && slot.passed >= MAY_BE_PASSED) return 0
    return short && needsLittle(slot, share) ? 1 : 2
  }
  const held = new Map<unknown, number>()
  for (const { owner } of running) held.set(owner, (held.get(owner) ?? 0) + 1)
  const line: { readonly slot: Slot; readonly rank: number; readonly has: number }[] = []
  for (const slot of waiting) {
    const has = held.get(slot.owner) ?? 0
    held.set(slot.owner, has + 1)
    line.push({ slot, rank: rank(slot), has })
  }
  return line.sort((a, b) => a.rank - b.rank || a.has - b.has).map(({ slot }) => slot)
}
