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

export function planPasses(batch: readonly StepInput[], rows: number): PlannedSpan[][] {
  const passes: PlannedSpan[][] = []
  let pass: PlannedSpan[] = []
  let left = rows
  batch.forEach((input, index) => {
    let from = 0
    while (from < input.tokens.length) {
      if (left === 0) {
        passes.push(pass)
        pass = []
        left = rows
      }
      const to = Math.min(from + left, input.tokens.length)
      pass.push({
        sequence: input.sequence as PagedSequence,
        tokens: Int32Array.from(input.tokens.slice(from, to)),
        input: index,
        ...(to === input.tokens.length && input.sample ? { sample: input.sample } : {}),
      })
      left -= to - from
      from = to
    }
  })
  if (pass.length > 0) passes.push(pass)
  return passes
}
