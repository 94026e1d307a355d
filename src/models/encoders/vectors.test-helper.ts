import { expect } from 'vitest'
import { distance, type EncoderCase, type Input, inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { encoderTruth } from '../../../test/oracles/encoders/source.js'
import type { Weights } from '../../../test/oracles/family.js'
import type { Device } from '../../device/contract.js'
import type { WeightSource } from '../files/source.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'

/** Of numbers of a vector of length one: what sums in f32 may lose, and a tenth of what the least mistake costs. */
export const BOUND = 3e-6

/** The model in `source` makes the vectors that the case's definition makes of `weights` in float64. */
export async function expectVectors(
  device: Device,
  source: WeightSource,
  of: EncoderCase,
  { weights, inputs = inputsOf(of) }: { readonly weights?: Weights; readonly inputs?: readonly Input[] } = {},
): Promise<void> {
  const plan = planEncoderLoad(source, device)
  expect(plan.task).toBe('embed')
  const model = await loadEncoderPlanned(device, source, plan)
  const vectors = await model.vectors(inputs)
  inputs.forEach((input, i) => {
    const truth = weights ? of.reference(weights, input) : encoderTruth(of, input)
    expect(distance(truth, vectors[i]!).worst).toBeLessThan(BOUND)
  })
  await model.close()
}

export const furthest = (actual: ArrayLike<number>, of: ArrayLike<number>): number =>
  Array.from(of).reduce((most: number, value, i) => Math.max(most, Math.abs(value - actual[i]!)), 0)
