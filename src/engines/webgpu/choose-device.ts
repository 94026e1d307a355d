import { V1Error } from '../../contract/index.js'
import { type Device, openCpuDevice, openWebGpuDevice } from '../../device/index.js'
import type { DevicePreference, WebGpuOptions } from './options.js'

/**
 * Opens the device that `preference` asks for. `auto` never takes a GPU in software: the CPU device is many times
 * faster. Both come with the engine: a service worker may load nothing later, and what some bundlers put around an
 * `import()` asks for a document.
 */
export async function chooseDevice(preference: DevicePreference, options: CpuOptions = {}): Promise<Device> {
  if (preference === 'cpu') return openCpu('The CPU was asked for.', options)
  if (preference === 'webgpu') return openWebGpuDevice({ reason: 'WebGPU was asked for.' })
  try {
    return await openWebGpuDevice({ hardwareOnly: true, reason: 'There is a GPU.' })
  } catch (error) {
    return openCpu(V1Error.is(error) ? error.message : `WebGPU cannot be used: ${String(error)}.`, options)
  }
}

/** What only the CPU device has to know. */
type CpuOptions = Pick<WebGpuOptions, 'threads' | 'revectorize'>

const openCpu = (reason: string, { threads, revectorize }: CpuOptions): Promise<Device> =>
  openCpuDevice({ reason, ...(threads !== undefined && { threads }), ...(revectorize && { revectorize }) })
