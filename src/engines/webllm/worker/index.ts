import type { Engine } from '../../../contract/index.js'
import { assertOptions, type OptionNames } from '../../../platform/index.js'
import { portOf, RemoteEngine } from '../../remote/index.js'
import type { MessageTarget } from '../../remote/port.js'
import { WEBLLM_OPTIONS } from '../options.js'
import { type WebLlmWorkerOptions, type WorkerWebLlm, webllmInWorker } from './in-worker.js'

export type { WebLlmWorkerOptions, WorkerWebLlm } from './in-worker.js'
export { type ServeOptions, serve } from './serve.js'

const { loader: _, ...shared } = WEBLLM_OPTIONS
const OPTIONS: OptionNames<WebLlmWorkerOptions> = { ...shared, worker: true }

/**
 * WebLLM as `local-v1/webllm` has it, in a worker: the page stays free while it computes.
 *
 * ```ts
 * const v1 = createV1({ engine: webllm({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 */
export function webllm(options: WebLlmWorkerOptions = {}): WorkerWebLlm {
  assertOptions('webllm', options, OPTIONS)
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
