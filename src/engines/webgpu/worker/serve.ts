import { serveInside } from '../../remote/index.js'
import type { WebGpuEngine } from '../engine.js'
import { webgpuHere } from '../here.js'
import type { WebGpuOptions } from '../options.js'
import { type ToWorker, unpacked, type WorkerOptions } from './messages.js'

/** In a worker: runs there what `webgpu()` asks for. `open` makes the engine. */
export function serveWebGpu(open: (options: WebGpuOptions) => WebGpuEngine = webgpuHere): void {
  serveInside<WorkerOptions, WebGpuEngine>(
    // Nothing but the engine stands while it is compiled and tried.
    ({ models, revectorize = 'later', ...options }, log) =>
      open({ ...options, revectorize, models: models.map(unpacked), log }),
    (message, opened) => {
      const received = message as ToWorker | undefined
      if (received?.type !== 'offer' && received?.type !== 'withdraw') return false
      void opened?.then((engine) => {
        if (received.type === 'offer') engine.offer(unpacked(received.model))
        else return engine.withdraw(received.model).catch(() => {})
      })
      return true
    },
  )
}
