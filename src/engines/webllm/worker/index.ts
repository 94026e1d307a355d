import type { Engine } from '../../../contract/index.js'
import { portOf, RemoteEngine } from '../../remote/index.js'
import type { MessageTarget } from '../../remote/port.js'
import { type WebLlmWorkerOptions, type WorkerWebLlm, webllmInWorker } from './in-worker.js'

export type { WebLlmWorkerOptions, WorkerWebLlm } from './in-worker.js'
export { type ServeOptions, serve } from './serve.js'

/**
 * WebLLM as `local-v1/webllm` has it, in a worker: the page stays free while it computes.
 *
 * ```ts
 * const v1 = createV1({ engine: webllm({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 */
export function webllm(options: WebLlmWorkerOptions = {}): WorkerWebLlm {
  // Written out in full, because bundlers look for exactly this expression.
  return webllmInWorker(options, () => new Worker(new URL('./webllm-worker.js', import.meta.url), { type: 'module' }))
}

/** The engine behind a port that `connect()` gave. When its worker ends, requests fail until there is a new port. */
export function overPort(port: MessagePort): Engine {
  const target = portOf(port as unknown as MessageTarget)
  const gone = new Promise<unknown>((resolve) => {
    target.whenGone(() => resolve(new Error('the other end of the port is closed.')))
  })
  return new RemoteEngine({ start: () => ({ port: target, gone, end: () => target.close() }) })
}
