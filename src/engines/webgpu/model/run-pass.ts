/** Records and submits one pass over parts of sequences. */
import { type Sampled, UNDRAWN } from '../../../decode/token-model.js'
import type { Device, SampleRow, Sampler, Span } from '../contract.js'
import type { Decoder } from './decoder.js'
import type { Kept } from './kept.js'
import type { PlannedSpan } from './passes.js'
import { sampleRow } from './settings.js'

export interface PassParts {
  readonly device: Device
  readonly decoder: Decoder
  readonly sampler: Sampler
  readonly kept: Kept
}

export interface PassResult {
  readonly input: number
  readonly sampled: Sampled
}

/** Appends the tokens to their sequences at once; the promise is of what was sampled. */
export function submitSpans(
  parts: PassParts,
  planned: readonly PlannedSpan[],
  slots: readonly number[],
): Promise<PassResult[]> {
  const spans: Span[] = []
  const copies: { from: number; to: number }[] = []
  const cleared: number[] = []
  const samples: SampleRow[] = []
  const inputs: number[] = []
  const wanted: number[] = []
  let row = 0
  for (const { sequence, tokens, sample, input } of planned) {
    const position = sequence.length
    const { copy, clear, state } = sequence.append(tokens.length)
    if (copy) copies.push(copy)
    cleared.push(...clear)
    spans.push({ tokens, position, pages: sequence.pages, ...(state && { state }) })
    row += tokens.length
    if (!sample) continue
    wanted.push(row - 1)
    inputs.push(input)
    samples.push(sampleRow(sample, slots[input]!))
  }
  const { device, decoder, sampler, kept } = parts
  const pass = device.begin({ spans, sampler })
  for (const cache of kept.caches) {
    if (cleared.length > 0) pass.clearPages(cache, cleared)
    if (copies.length > 0) pass.copyPages(cache, copies)
  }
  decoder.forward(pass, Int32Array.from(wanted))
  decoder.sample(pass, sampler, samples)
  const sampling = planned.filter(({ sample }) => sample)
  return pass.submit().then((rows) =>
    rows.map((sampled, i) => {
      if (sampled.token === UNDRAWN) sampling[i]!.sequence.spoil()
      return { input: inputs[i]!, sampled }
    }),
  )
}
