import { V1Error } from '../../contract/index.js'
import { type Device, openCpuDevice, openWebGpuDevice } from '../../device/index.js'
import type { DevicePreference } from './options.js'

/**
 * Opens the device that `preference` asks for. `auto` never takes a GPU in software: the CPU device is many times
 * faster. Both come with the engine: a service worker may load nothing later, and what some bundlers put around an
 * `import()` asks for a document.
 */
export async function chooseDevice(preference: DevicePreference, threads?: number): Promise<Device> {
  if (preference === 'cpu') return openCpu('The CPU was asked for.', threads)
  if (preference === 'webgpu') return openWebGpuDevice({ reason: 'WebGPU was asked for.' })
  try {
    return await openWebGpuDevice({ hardwareOnly: true, reason: 'There is a GPU.' })
  } catch (error) {
    return openCpu(V1Error.is(error) ? error.message : `WebGPU cannot be used: ${String(error)}.`, threads)
  }
}

const openCpu = (reason: string, threads: number | undefined): Promise<Device> =>
  openCpuDevice({ reason, ...(threads !== undefined && { threads }) })
