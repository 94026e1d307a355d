import { expect } from 'vitest'
import { distance, type EncoderCase, inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
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
  { weights = encoderWeights(of), inputs = inputsOf(of) } = {},
): Promise<void> {
  const plan = planEncoderLoad(source, device)
  expect(plan.task).toBe('embed')
  const model = await loadEncoderPlanned(device, source, plan)
  const vectors = await model.vectors(inputs)
  inputs.forEach((input, i) => {
    expect(distance(of.reference(weights, input), vectors[i]!).worst).toBeLessThan(BOUND)
  })
  await model.close()
}
