/** What a step of decoding asks of GPUs whose products are cut in ways of their own: of one small shape, as it is cut most. */
import { costOfStep } from '../step/step.js'
import { WAYS } from '../step/ways.js'
import type { Counts } from './compare.js'

const SHAPE = 'SmolLM2-135M-like'

export async function countCuts(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  for (const [name, traits] of Object.entries(WAYS)) {
    const { dispatches, waits, waitsOfProducts, weights, activations } = await costOfStep(SHAPE, traits)
    found[name] = {
      dispatches,
      'barriers within workgroups': waits,
      'of them in products': waitsOfProducts,
      'bytes of weights': weights,
      'bytes of activations': activations,
    }
  }
  return found
}
