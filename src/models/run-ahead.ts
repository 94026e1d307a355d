/** Decoding without waiting: each pass takes its tokens from the slots into which the pass before it sampled. */
import type { Sampled, StepInput } from '../contract/index.js'
import { slotToken } from '../device/index.js'
import { type PassParts, type PassResult, type PlannedSpan, submitSpans } from './run-pass.js'
import type { PagedSequence } from './sequence.js'

/** Passes in flight. Enough to hide the way back from the device; every one more is lost work when a stream ends. */
const AHEAD = 3

export async function* runAhead(
  parts: PassParts,
  batch: readonly StepInput[],
  steps: number,
  slots: readonly number[],
  /** Called before each pass. */
  onSubmit: () => void,
): AsyncGenerator<readonly Sampled[]> {
  const flying: Promise<PassResult[]>[] = []
  const lengths = batch.map(({ sequence, tokens }) => sequence.length + tokens.length)
  let submitted = 0
  let delivered = 0
  const submit = () => {
    onSubmit()
    const promise = submitSpans(parts, plan(batch, slots, submitted), slots)
    // Awaited below, in order; a failure before that must not count as unhandled.
    promise.catch(() => undefined)
    flying.push(promise)
    submitted++
  }
  try {
    while (delivered < steps) {
      while (submitted < steps && flying.length < AHEAD) submit()
      const results = await flying.shift()!
      delivered++
      yield results.map(({ sampled }) => sampled)
    }
  } finally {
    await Promise.allSettled(flying)
    // What ran ahead of the tokens that were delivered never happened.
    batch.forEach(({ sequence }, i) => {
      const length = lengths[i]! + Math.max(delivered, 1) - 1
      if (!(sequence as PagedSequence).closed && sequence.length > length) sequence.truncate(length)
    })
  }
}

function plan(batch: readonly StepInput[], slots: readonly number[], step: number): PlannedSpan[] {
  return batch.map(({ sequence, tokens, sample }, input) => ({
    sequence: sequence as PagedSequence,
    tokens: step === 0 ? Int32Array.from(tokens) : Int32Array.of(slotToken(slots[input]!)),
    sample: { ...sample!, index: sample!.index + step },
    input,
  }))
}
