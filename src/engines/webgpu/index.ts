import type { Engine } from '../../engine.js'
import { describeRepository, forget, isWhole, keptOf, openRepository } from '../../repository/open.js'
import { chooseDevice } from './choose-device.js'
import { becomeThread } from './cpu/start-thread.js'
import { WebGpuEngine } from './engine.js'
import type { WebGpuOptions } from './options.js'

export type { NamedBlob } from '../../repository/blobs.js'
export type { KeepOptions, KeptFile } from '../../repository/store/origin.js'
export { keepFile, keptFiles, removeFile } from '../../repository/store/origin.js'
export type { DevicePreference, ModelOptions, WebGpuOptions } from './options.js'

/**
 * Language models on this device, in TypeScript and WGSL: on its GPU, or on its CPU where there is none.
 *
 * ```ts
 * const v1 = createV1({ engine: webgpu({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 */
export function webgpu(options: WebGpuOptions): Engine {
  // The script of this worker was started once more, for a thread of another's.
  becomeThread()
  const { device = 'auto', threads, cache } = options
  return new WebGpuEngine(options, {
    openDevice: () => chooseDevice(device, threads),
    openRepository: ({ location }, report, signal, check) => openRepository(location, { report, signal, cache, check }),
    describe: ({ location }, signal) => describeRepository(location, { signal, cache }),
    keptOf: async ({ location }) => ({
      bytes: await keptOf(location, cache),
      whole: await isWhole(location, cache),
    }),
    forget: ({ location }) => forget(location, cache),
  })
}
