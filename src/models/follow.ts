/**
 * Decoding where how a token is drawn hangs on the one before, as a grammar has it. A pass needs the token alone, and finds
 * it on the device: it is begun at once, and only its sampling waits until the token has come back and its mask is made.
 */
import type { Following, Sampled, StepInput } from '../contract/index.js'
import { slotToken } from '../device/index.js'
import { type PassParts, type PlannedSpan, submitDraws, submitSpans } from './run-pass.js'
import type { PagedSequence } from './sequence.js'

export async function* follow(
  parts: PassParts,
  batch: readonly StepInput[],
  first: readonly PlannedSpan[],
  slots: readonly number[],
  /** Called before each pass; false where there is no room for it. */
  mayGoOn: () => boolean,
): Following {
  const sequences = batch.map(({ sequence }) => sequence as PagedSequence)
  let drawing: Promise<readonly Sampled[]> = submitSpans(parts, first, slots).then((results) => {
    const sampled: Sampled[] = []
    for (const result of results) sampled[result.input] = result.sampled
    return sampled
  })
  for (;;) {
    // Whatever is thrown meanwhile, it is heard of below.
    drawing.catch(() => undefined)
    const lengths = sequences.map(({ length }) => length)
    let begun = mayGoOn()
    try {
      if (begun) begin(parts, sequences, slots)
      const settings = yield await drawing
      if (!begun) return
      begun = false
      drawing = submitDraws(parts, sequences, settings, slots)
    } finally {
      // Nobody draws from it.
      if (begun) cutBack(sequences, lengths)
    }
  }
}

function begin(parts: PassParts, sequences: readonly PagedSequence[], slots: readonly number[]): void {
  const spans = sequences.map((sequence, input): PlannedSpan => {
    return { sequence, tokens: Int32Array.of(slotToken(slots[input]!)), logits: true, input }
  })
  // A failure is found by whoever draws.
  submitSpans(parts, spans, slots).catch(() => undefined)
}

function cutBack(sequences: readonly PagedSequence[], lengths: readonly number[]): void {
  sequences.forEach((sequence, i) => {
    if (!sequence.closed && sequence.length > lengths[i]!) sequence.truncate(lengths[i]!)
  })
}
