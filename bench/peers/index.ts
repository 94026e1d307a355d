/** Others to stand beside our own core, by the options of `npm run bench`. */

import type { BenchOrder } from '../../src/bench/elsewhere.js'
import type { Candidate } from '../../src/bench/subject.js'
import { usefulThreads } from '../../src/device/cpu/team.js'
import { llamaCandidate } from './llama.js'
import { llamaEngineCandidate } from './llama-engine.js'
import { sameWeights } from './same-weights.js'
import { webllmBeside } from './webllm.js'

export interface PeerOptions {
  readonly peers?: string
  readonly webllmLib?: string
  readonly webllm?: string
}

export interface Peers {
  readonly candidates: readonly Candidate[]
  /** What our own core is asked to run, where a peer decides it. */
  readonly order: BenchOrder
  remove(): Promise<void>
}

export async function besides(order: BenchOrder, { peers, webllmLib, webllm }: PeerOptions): Promise<Peers> {
  if (webllmLib !== undefined) {
    const { candidate, model, remove } = await webllmBeside({ lib: webllmLib, library: webllm })
    return { candidates: [candidate], order: { ...order, models: [model] }, remove }
  }
  if (peers === undefined) return { candidates: [], order, remove: async () => {} }
  const same = await sameWeights(order)
  const options = { peers, ...same, threads: order.threads ?? usefulThreads() }
  const candidates = [await llamaCandidate(options), llamaEngineCandidate(options)]
  return { candidates, order, remove: () => same.gguf.remove() }
}
