/** Others to stand beside our own core, by the options of `npm run bench`. */
import { usefulThreads } from '../../src/engines/webgpu/device/cpu/team.js'
import { offeredModel } from '../../src/engines/webgpu/location.js'
import { openRepository } from '../../src/engines/webgpu/weights/open.js'
import type { WeightSource } from '../../src/engines/webgpu/weights/source.js'
import type { Order } from '../harness/elsewhere.js'
import { isMadeUp, openMadeUp } from '../harness/made-up.js'
import type { Candidate } from '../harness/subject.js'
import { llamaCandidate } from './llama.js'
import { webllmBeside } from './webllm.js'

export interface PeerOptions {
  readonly peers?: string
  readonly webllmLib?: string
  readonly webllm?: string
}

export interface Peers {
  readonly candidates: readonly Candidate[]
  /** What our own core is asked to run, where a peer decides it. */
  readonly order: Order
  remove(): Promise<void>
}

export async function besides(order: Order, { peers, webllmLib, webllm }: PeerOptions): Promise<Peers> {
  if (webllmLib !== undefined) {
    const { candidate, model, remove } = await webllmBeside({ lib: webllmLib, library: webllm })
    return { candidates: [candidate], order: { ...order, models: [model] }, remove }
  }
  if (peers === undefined) return { candidates: [], order, remove: async () => {} }
  const { promptLengths, batches, tokens } = order.settings
  const candidate = await llamaCandidate({
    peers,
    ...(await weightsOf(order)),
    threads: order.threads ?? usefulThreads(),
    sequences: Math.max(...batches),
    // A scenario asks for a little more than it needs: see `fits`.
    context: Math.ceil((Math.max(...promptLengths) + tokens) * 1.2) + 32,
  })
  return { candidates: [candidate], order, remove: () => candidate.remove() }
}

/** Of the first model: a peer stands beside one. */
async function weightsOf({ models }: Order): Promise<{ model: string; weights: WeightSource }> {
  const { id, location } = offeredModel(models[0]!)
  if (isMadeUp(id)) return { model: id, weights: openMadeUp(id).weights }
  const options = { report: () => {}, signal: new AbortController().signal }
  return { model: id, weights: (await openRepository(location, options)).weights }
}
