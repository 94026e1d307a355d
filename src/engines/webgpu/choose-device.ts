import { V1Error } from '../../errors.js'
import type { Device } from './device/device.js'
import type { DevicePreference } from './options.js'

/**
 * Opens the device that `preference` asks for. `auto` never takes a GPU in software: the CPU device is many times
 * faster.
 */
export async function chooseDevice(preference: DevicePreference, threads?: number): Promise<Device> {
  if (preference === 'cpu') return openCpu('The CPU was asked for.', threads)
  // Loaded when needed: an application that names one device need not carry the code of both.
  const { openWebGpuDevice } = await import('./device/webgpu.js')
  if (preference === 'webgpu') return openWebGpuDevice({ reason: 'WebGPU was asked for.' })
  try {
    return await openWebGpuDevice({ hardwareOnly: true, reason: 'There is a GPU.' })
  } catch (error) {
    return openCpu(V1Error.is(error) ? error.message : `WebGPU cannot be used: ${String(error)}.`, threads)
  }
}

async function openCpu(reason: string, threads: number | undefined): Promise<Device> {
  const { openCpuDevice } = await import('./device/cpu/index.js')
  return openCpuDevice({ reason, ...(threads !== undefined && { threads }) })
}
