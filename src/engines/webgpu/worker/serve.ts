import { serveInside } from '../../remote/index.js'
import type { WebGpuEngine } from '../engine.js'
import { webgpuHere } from '../here.js'
import type { WebGpuOptions } from '../options.js'
import { type ToWorker, unpacked, type WorkerOptions } from './messages.js'

/** In a worker: runs there what `webgpu()` asks for. `open` makes the engine. */
export function serveWebGpu(open: (options: WebGpuOptions) => WebGpuEngine = webgpuHere): void {
  serveInside<WorkerOptions, WebGpuEngine>(
    ({ models, ...options }, log) => open({ ...options, models: models.map(unpacked), log }),
    (message, opened) => {
      const told = message as ToWorker | undefined
      if (told?.type !== 'offer' && told?.type !== 'withdraw') return false
      void opened?.then((engine) => {
        if (told.type === 'offer') engine.offer(unpacked(told.model))
        else return engine.withdraw(told.model).catch(() => {})
      })
      return true
    },
  )
}
