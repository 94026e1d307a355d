/** Chooses the device that a model runs on, and says why. */
import { V1Error } from '../../../errors.js'
import { openCpuDevice } from './cpu/index.js'
import type { Device } from './device.js'
import { openWebGpuDevice } from './webgpu.js'

export type DeviceChoice = 'auto' | 'webgpu' | 'cpu'

export interface OpenOptions {
  /** @default navigator.gpu, else the npm package `webgpu` */
  gpu?: GPU
}

/**
 * `auto`: WebGPU on a real GPU, else the CPU, which is many times faster than a GPU in software. `webgpu`: WebGPU, also
 * in software. Fails with a `V1Error` 503.
 */
export async function openDevice(choice: DeviceChoice = 'auto', { gpu }: OpenOptions = {}): Promise<Device> {
  if (choice === 'cpu') return openCpuDevice({ reason: 'The CPU was asked for.' })
  if (choice === 'webgpu') return openWebGpuDevice({ ...(gpu ? { gpu } : {}) })
  try {
    const reason = 'WebGPU found a hardware adapter.'
    return await openWebGpuDevice({ ...(gpu ? { gpu } : {}), hardwareOnly: true, reason })
  } catch (error) {
    const why = V1Error.is(error) ? error.message : `WebGPU failed: ${String(error)}`
    return openCpuDevice({ reason: why })
  }
}
