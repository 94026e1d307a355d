/** Cuts a step into passes: no pass has more rows, or samples more of them, than the device was prepared for. */
import type { SampleSettings, StepInput } from '../../../decode/token-model.js'
import type { PagedSequence } from './sequence.js'

export interface PlannedSpan {
  readonly sequence: PagedSequence
  readonly tokens: Int32Array
  /** Of the input whose last tokens these are. */
  readonly sample?: SampleSettings
  /** Place of the input in the step. */
  readonly input: number
}

/**
 * `rows`: the most of a pass. `few`: see `DeviceLimits.fewRows`. A sequence that appends few tokens is never put beside
 * one that appends many, so that its answer does not depend on its company.
 */
export function planPasses(batch: readonly StepInput[], rows: number, few = rows): PlannedSpan[][] {
  const short: number[] = []
  const long: number[] = []
  batch.forEach(({ tokens }, index) => {
    if (tokens.length <= few && few < rows) short.push(index)
    else long.push(index)
  })
  return [...cut(batch, short, few), ...cut(batch, long, rows)]
}

/** A sequence's tokens are only cut where no pass could hold them, and then at the same places whatever lies beside. */
function cut(batch: readonly StepInput[], inputs: readonly number[], rows: number): PlannedSpan[][] {
  const passes: PlannedSpan[][] = []
  let left = 0
  for (const input of inputs) {
    const { sequence, tokens, sample } = batch[input]!
    for (let from = 0; from < tokens.length; from += rows) {
      const to = Math.min(from + rows, tokens.length)
      if (to - from > left) {
        passes.push([])
        left = rows
      }
      passes.at(-1)!.push({
        sequence: sequence as PagedSequence,
        tokens: Int32Array.from(tokens.slice(from, to)),
        input,
        ...(to === tokens.length && sample ? { sample } : {}),
      })
      left -= to - from
    }
  }
  return passes
}
