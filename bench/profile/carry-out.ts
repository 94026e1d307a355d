/** One profile, from a model's name to the finished figures; runs in Node and in pages. */

import { machine } from '../../src/bench/machine.js'
import { weightsOf } from '../../src/bench/weights.js'
import { offeredModel } from '../../src/engines/webgpu/location.js'
import type { ModelOptions } from '../../src/engines/webgpu/options.js'
import { type ProfileOptions, profileModel } from './measure.js'
import { type DeviceChoice, openProfiled } from './open-device.js'
import type { Profile } from './profile.js'

export interface ProfileOrder extends DeviceChoice, ProfileOptions {
  readonly version: string
  readonly model: string | ModelOptions
}

export async function profiled({
  version,
  model,
  device: kind,
  gpu,
  kernels,
  ...options
}: ProfileOrder): Promise<Profile> {
  const { id, quantize } = offeredModel(model)
  const opened = await openProfiled({ device: kind, ...(gpu && { gpu }), ...(kernels && { kernels }) })
  const { device, timer } = opened
  try {
    const parts = await profileModel(opened, await weightsOf(model), { ...options, ...(quantize && { quantize }) })
    return {
      kind: 'local-v1 profile',
      version,
      date: new Date().toISOString(),
      model: id,
      device: device.info.kind,
      deviceName: `${device.info.name}, ${device.info.kernels}`,
      machine: await machine(),
      parts,
      notes: notesOf(kind),
    }
  } finally {
    timer.destroy()
    device.destroy()
  }
}

function notesOf(kind: 'webgpu' | 'cpu'): string[] {
  if (kind === 'cpu') return ['one thread; operations run one by one, each with a call of its own into WebAssembly.']
  return [
    'compute passes cost something themselves: a pass for each dispatch makes the sum larger than the same step in one pass.',
    'browsers round timestamps (Chrome to 0.1 ms): only sums over many dispatches mean something there.',
  ]
}
