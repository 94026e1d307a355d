/**
 * How tokens are drawn on a device: the settings of a request as the device takes them, where counted penalties and bias
 * become one sparse list of additions, and the slots in which what was drawn waits for the pass that continues it.
 */
import type { SampleSettings } from '../contract/index.js'
import type { SampleRow } from '../device/index.js'

export function sampleRowOf(settings: SampleSettings, slot: number): SampleRow {
  // What counts become is said by `adjust`; all else is the device's.
  const { presencePenalty: _, frequencyPenalty: __, counts: ___, logitBias: ____, ...drawn } = settings
  const adjust = adjustments(settings)
  return { ...drawn, slot, ...(adjust && { adjust }) }
}

/** Whether a token changes what its successors are drawn from, so that it must be read back first. */
export function needsToken(settings: SampleSettings): boolean {
  const { mask, repeats } = settings
  return (
    mask !== undefined || repeats !== undefined || settings.presencePenalty !== 0 || settings.frequencyPenalty !== 0
  )
}

/** The same settings after one more token of the answer. */
export function afterToken(settings: SampleSettings, token: number): SampleSettings {
  const counts = new Map(settings.counts)
  counts.set(token, (counts.get(token) ?? 0) + 1)
  return { ...settings, index: settings.index + 1, counts, ...(settings.repeats && repeated(settings.repeats, token)) }
}

function repeated({ tokens, by }: NonNullable<SampleSettings['repeats']>, token: number) {
  const more = tokens.slice()
  more[token >>> 5]! |= 1 << (token & 31)
  return { repeats: { tokens: more, by } }
}

/** Of a bias alone: a request may name every token of a vocabulary, and has one for all of its steps. */
const ofBias = new WeakMap<ReadonlyMap<number, number>, SampleRow['adjust']>()

function adjustments(settings: SampleSettings): SampleRow['adjust'] {
  const { presencePenalty, frequencyPenalty, counts, logitBias } = settings
  const penalised = counts !== undefined && (presencePenalty !== 0 || frequencyPenalty !== 0)
  if (!penalised) {
    if (!logitBias?.size) return undefined
    if (!ofBias.has(logitBias)) ofBias.set(logitBias, listed(logitBias))
    return ofBias.get(logitBias)
  }
  const deltas = new Map(logitBias)
  for (const [token, count] of counts) {
    if (count > 0) deltas.set(token, (deltas.get(token) ?? 0) - presencePenalty - frequencyPenalty * count)
  }
  return deltas.size === 0 ? undefined : listed(deltas)
}

const listed = (deltas: ReadonlyMap<number, number>): NonNullable<SampleRow['adjust']> => ({
  tokens: Int32Array.from(deltas.keys()),
  deltas: Float32Array.from(deltas.values()),
})

/** Places on the device where sampled tokens wait for the pass that continues them. */
export class Slots {
  readonly #free: number[]

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, i) => count - 1 - i)
  }

  take(count: number): number[] {
    if (count > this.#free.length) throw new RangeError('More steps at once than the model has slots for.')
    return this.#free.splice(this.#free.length - count, count)
  }

  give(slots: readonly number[]): void {
    this.#free.push(...slots)
  }
}
