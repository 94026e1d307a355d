/** Passes like those to come, for a device that compiles what they need. */
import { type Batch, NO_STATE, PAGE, type Pass, type SampleRow } from '../device/index.js'
import type { PassParts } from './run-pass.js'

type Begin = (batch: Batch) => Pass

/** Positions at which attention is split between workgroups, if it ever is. */
const FAR = 600

export interface Extent {
  readonly maxBatch: number
  readonly maxChunk: number
  readonly contextLength: number
  /** Rows up to which a pass is one of few. */
  readonly fewTokens: number | undefined
}

/** What a first answer needs: a prompt in chunks, whose last may be short, then steps near and far. */
export function firstAnswer(parts: PassParts, begin: Begin, extent: Extent): void {
  const { maxChunk, contextLength, fewTokens = 0 } = extent
  const far = Math.min(FAR, contextLength - 1)
  const chunk = Math.min(maxChunk, contextLength)
  rehearse(parts, begin, [chunk], 0, 1)
  // A whole chunk and the shortest that is not of few rows may be cut in ways of their own.
  rehearse(parts, begin, [Math.min(fewTokens + 1, chunk)], 0, 1)
  rehearse(parts, begin, [Math.min(8, chunk)], 0, 1)
  rehearse(parts, begin, [1], 0, 1)
  rehearse(parts, begin, [1], far, 1)
}

/** What answers side by side need. */
export function moreAnswers(parts: PassParts, begin: Begin, { maxBatch, maxChunk, contextLength }: Extent): void {
  const far = Math.min(FAR, contextLength - 1)
  for (const count of [2, 4, 8]) {
    if (count > maxBatch) break
    const ones = new Array<number>(count).fill(1)
    rehearse(parts, begin, ones, far, count)
    rehearse(parts, begin, [...ones, Math.min(maxChunk, contextLength)], 0, count)
  }
}

/** One span for each of `lengths`; the first `sampled` of them are sampled. */
function rehearse(
  { decoder, sampler, kept }: PassParts,
  begin: Begin,
  lengths: readonly number[],
  position: number,
  sampled: number,
): void {
  const spans = lengths.map((length, to) => ({
    tokens: new Int32Array(length),
    position,
    pages: new Int32Array(Math.ceil((position + length) / PAGE)),
    ...(kept.windows && { windowPages: new Int32Array(Math.ceil((position + length) / PAGE)) }),
    ...(kept.states && { state: { from: NO_STATE, to } }),
  }))
  const pass = begin({ spans, sampler })
  const rows = Array.from({ length: sampled }, (_, slot): SampleRow => {
    return { slot, temperature: 1, topP: 1, seed: 0, index: 0 }
  })
  const long = spans.some(({ tokens }) => position + tokens.length > (decoder.border ?? Number.POSITIVE_INFINITY))
  decoder.forward(pass, spans, Int32Array.from(rows.keys()), long)
  decoder.sample(pass, sampler, rows)
}
