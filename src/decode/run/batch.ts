import type { StepInput, TokenModel } from '../token-model.js'
import { callOf, pending, promptIsIn, type Slot } from './slot.js'

/** What one slot gets in a step. */
export interface Row {
  readonly slot: Slot
  /** How many of its pending tokens are fed. */
  readonly count: number
}

/** The share of a full chunk that a new prompt gets in a step while others are writing. */
const PREFILL_SHARE = 4

/** Those that write get their tokens; what is left of the step goes to prompts, oldest first. */
export function compose(running: readonly Slot[], { maxBatch, maxChunk }: TokenModel): Row[] {
  const ready = shared(
    running.filter((slot) => !slot.lane.paused),
    maxBatch,
  )
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

/** Those who take part where not all can: the first of each call, then the second of each, and so on. */
function shared(ready: readonly Slot[], maxBatch: number): readonly Slot[] {
  if (ready.length <= maxBatch) return ready
  const seen = new Map<Slot, number>()
  const ranked = ready.map((slot) => {
    const rank = seen.get(callOf(slot)) ?? 0
    seen.set(callOf(slot), rank + 1)
    return { slot, rank }
  })
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, maxBatch)
    .map(({ slot }) => slot)
}

/** Up to `most` where nothing that is still unknown decides how the next tokens are drawn, else 1. */
export function stepsAhead(rows: readonly Row[], most: number): number {
  const free = rows.every(({ slot, count }) => slot.lane.foreseeable && pending(slot) === count)
  return free ? Math.min(most, ...rows.map(({ slot }) => slot.lane.remaining)) : 1
}

/** A row as the model takes it; undefined if the lane cannot say how to go on, which ends it. */
export function inputOf({ slot, count }: Row): StepInput | undefined {
  const { lane } = slot
  const sequence = slot.sequence!
  const from = sequence.length
  const tokens = lane.tokens.slice(from, from + count)
  if (from + count < lane.tokens.length) return { sequence, tokens }
  try {
    return { sequence, tokens, sample: lane.settings() }
  } catch (error) {
    lane.fail(error)
    return undefined
  }
}
