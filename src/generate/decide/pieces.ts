import type { LanePieces } from '../answer/lane.js'

/** More than twice as many tokens find room in a step beside others. */
const GRAIN = 32

/**
 * Pieces of a prompt for models that compute few tokens in another way than many: each stretch is cut into pieces of
 * many, whoever else is being read, and only what comes after the last stop is read a few at a time. The same tokens are
 * then always computed in the same way.
 */
export class CutAtStops implements LanePieces {
  readonly #stops: readonly number[]
  readonly #few: number

  /** `stops`: where stretches end, in order. A stretch that is short throughout is a piece of few. */
  constructor(stops: readonly number[], few: number) {
    this.#stops = stops
    this.#few = few
  }

  floor(length: number): number {
    const { start, end } = this.#stretch(length)
    if (end === undefined) return length
    return start + this.#cut(length - start, end - start)
  }

  next(at: number, most: number): number {
    const { start, end } = this.#stretch(at)
    if (end === undefined) return Math.min(most, this.#few)
    if (end - at <= most) return end - at
    return Math.max(0, this.#cut(at + most - start, end - start) - (at - start))
  }

  least(at: number): number {
    const { start, end } = this.#stretch(at)
    if (end === undefined) return 1
    const size = end - start
    for (let cut = at - start + 1; cut < size; cut++) if (this.#cut(cut, size) === cut) return cut - (at - start)
    return end - at
  }

  /** The last place to cut of a stretch's first `length` tokens: what is left of it is no less than a grain. */
  #cut(length: number, size: number): number {
    const last = Math.max(0, Math.floor(size / GRAIN) - 1)
    return length >= size ? size : Math.min(Math.floor(length / GRAIN), last) * GRAIN
  }

  /** That in which the token at `at` lies. */
  #stretch(at: number): { readonly start: number; readonly end: number | undefined } {
    let start = 0
    for (const end of this.#stops) {
      if (at < end) return { start, end }
      start = end
    }
    return { start, end: undefined }
  }
}

/** Whether a stretch between these stops has so many tokens that a few at a time would take long. */
export const isLong = (stops: readonly number[]): boolean =>
  stops.some((stop, i) => stop - (stops[i - 1] ?? 0) > 2 * GRAIN)

/** Undefined where a token's values depend on nothing beside it, or where steps are too short for pieces. */
export function stretchPieces(
  stops: readonly number[],
  { fewTokens, maxChunk }: { readonly fewTokens?: number | undefined; readonly maxChunk: number },
): LanePieces | undefined {
  if (fewTokens === undefined || fewTokens >= GRAIN || maxChunk < 8 * GRAIN) return undefined
  return new CutAtStops(stops, fewTokens)
}
