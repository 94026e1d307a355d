import type { TokenModel } from '../token-model.js'
import { pending, promptIsIn, type Slot } from './slot.js'

/** What one slot gets in a step. */
export interface Row {
  readonly slot: Slot
  /** How many of its pending tokens are fed. */
  readonly count: number
}

/** The share of a full chunk that a new prompt gets in a step while others are writing. */
const PREFILL_SHARE = 4
/** Steps that a model may run ahead of what was read back. More would let an abort or a newcomer wait. */
const STEPS_AHEAD = 4

/** Those that write get their tokens; what is left of the step goes to prompts, oldest first. */
export function compose(running: readonly Slot[], { maxBatch, maxChunk }: TokenModel): Row[] {
  const ready = running.filter((slot) => !slot.lane.paused)
  const writing = ready.filter(promptIsIn).slice(0, maxBatch)
  const rows: Row[] = writing.map((slot) => ({ slot, count: Math.min(pending(slot), maxChunk) }))
  let left = writing.length > 0 ? Math.ceil(maxChunk / PREFILL_SHARE) : maxChunk
  for (const slot of ready) {
    if (rows.length >= maxBatch || left <= 0) break
    if (promptIsIn(slot)) continue
    const count = Math.min(pending(slot), left)
    rows.push({ slot, count })
    left -= count
  }
  return rows
}

/** More than 1 where nothing that is still unknown decides how the next tokens are drawn. */
export function stepsAhead(rows: readonly Row[], model: TokenModel): number {
  if (model.run === undefined) return 1
  const free = rows.every(({ slot, count }) => slot.lane.foreseeable && pending(slot) === count)
  return free ? Math.min(STEPS_AHEAD, ...rows.map(({ slot }) => slot.lane.remaining)) : 1
}
