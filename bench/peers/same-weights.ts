/** The model of a run as a file that llama.cpp reads, and how much room its answers take. */

import type { BenchOrder } from '../../src/bench/elsewhere.js'
import { weightsOf } from '../../src/bench/weights.js'
import { offeredModel } from '../../src/engines/webgpu/location.js'
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
export async function sameWeights(order: BenchOrder): Promise<SameWeights> {
  const { promptLengths, batches, tokens, decisions, only } = order.settings
  // A scenario asks for a little more than it needs: see `fits`.
  const decided = only.includes('decide') ? decisions[0] + 100 * decisions[1] : 0
  const context = Math.ceil(Math.max(Math.max(...promptLengths) + tokens, decided) * 1.2) + 32
  // A peer stands beside one model.
  const first = order.models[0]!
  const { id: model, quantize } = offeredModel(first)
  const gguf = await writeGguf(model, await weightsOf(first), context, quantize !== undefined)
  return { model, gguf, sequences: Math.max(...batches), context }
}
