/** The device to be profiled, with what takes its times. */
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { openWebGpuDevice } from '../../src/device/gpu/index.js'
import { CpuTimer } from './cpu-timer.js'
import { GpuTimer } from './gpu-timer.js'
import type { OpenedDevice } from './measure.js'
import { Current, type Timer } from './operation.js'

export interface DeviceChoice {
  readonly device: 'webgpu' | 'cpu'
  /** @default the runtime's own */
  readonly gpu?: GPU
  /** Which way kernels are cut. @default as the adapter wants it */
  readonly kernels?: 'hardware' | 'software'
}

export async function openProfiled({ device: kind, gpu, kernels }: DeviceChoice): Promise<OpenedDevice> {
  const current = new Current()
  if (kind === 'cpu') {
    const timer = new CpuTimer(current)
    // On one thread: what runs on several is no operation's own time.
    return { device: await openCpuDevice({ threads: 1, profiler: timer }), timer, current }
  }
  let timer: Timer | undefined
  const device = await openWebGpuDevice({
    ...(gpu && { gpu }),
    ...(kernels && { serial: kernels === 'software' }),
    profiler: (raw) => {
      const made = new GpuTimer(raw, current)
      timer = made
      return made
    },
  })
  return { device, timer: timer!, current }
}
