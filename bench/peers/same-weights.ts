/** The model of a run as a file that llama.cpp reads, and how much room its answers take. */
import { offeredModel } from '../../src/engines/webgpu/location.js'
import { openRepository } from '../../src/engines/webgpu/weights/open.js'
import type { WeightSource } from '../../src/engines/webgpu/weights/source.js'
import type { Order } from '../harness/elsewhere.js'
import { isMadeUp, openMadeUp } from '../harness/made-up.js'
import { type Gguf, writeGguf } from './gguf.js'

export interface SameWeights {
  readonly model: string
  readonly gguf: Gguf
  /** Answers side by side. */
  readonly sequences: number
  /** Tokens of the longest prompt and its answer. */
  readonly context: number
}

/** Written before anything is measured: it is no part of loading. */
export async function sameWeights(order: Order): Promise<SameWeights> {
  const { promptLengths, batches, tokens } = order.settings
  // A scenario asks for a little more than it needs: see `fits`.
  const context = Math.ceil((Math.max(...promptLengths) + tokens) * 1.2) + 32
  const { model, weights } = await weightsOf(order)
  return { model, gguf: await writeGguf(model, weights, context), sequences: Math.max(...batches), context }
}

/** Of the first model: a peer stands beside one. */
async function weightsOf({ models }: Order): Promise<{ model: string; weights: WeightSource }> {
  const { id, location } = offeredModel(models[0]!)
  if (isMadeUp(id)) return { model: id, weights: openMadeUp(id).weights }
  const options = { report: () => {}, signal: new AbortController().signal }
  return { model: id, weights: (await openRepository(location, options)).weights }
}
