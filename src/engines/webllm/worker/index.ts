import type { Engine } from '../../../engine.js'
import { portOf, RemoteEngine } from '../../remote/index.js'
import type { MessageTarget } from '../../remote/port.js'

export { type WebLlmWorkerOptions, type WorkerWebLlm, webllmInWorker as webllm } from './in-worker.js'
export { type ServeOptions, serve } from './serve.js'

/** The engine behind a port that `connect()` gave. When its worker ends, requests fail until there is a new port. */
export function overPort(port: MessagePort): Engine {
  const gone = new Promise<unknown>((resolve) => {
    // Where the platform tells.
    port.addEventListener('close', () => resolve(new Error('the other end of the port is closed.')), { once: true })
  })
  const target = portOf(port as unknown as MessageTarget)
  return new RemoteEngine({ start: () => ({ port: target, gone, end: () => target.close() }) })
}
