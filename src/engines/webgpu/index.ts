import { describeRepository, forget, isWhole, keptOf, openRepository, siblingsOf } from '../../repository/open.js'
import { type CacheChoice, storeFor } from '../../repository/store/choose.js'
import { crossOriginStorage, sharedStore } from '../../repository/store/cross-origin.js'
import { chooseDevice } from './choose-device.js'
import { becomeThread } from './cpu/start-thread.js'
import { type WebGpu, WebGpuEngine } from './engine.js'
import type { WebGpuOptions } from './options.js'

export type { NamedBlob } from '../../repository/blobs.js'
export type { FreeOptions, StorageOptions, StoredModel } from '../../repository/storage.js'
export { freeStorage, storedModels } from '../../repository/storage.js'
export type { KeepOptions, KeptFile } from '../../repository/store/origin.js'
export { keepFile, keptFiles, removeFile } from '../../repository/store/origin.js'
export type { WebGpu } from './engine.js'
export type { Fit, FitOptions, Fitter } from './fit.js'
export { openFitter } from './fit.js'
export type { MemoryParts } from './memory-parts.js'
export type { DevicePreference, ModelOptions, WebGpuOptions } from './options.js'

/**
 * Language models on this device, in TypeScript and WGSL: on its GPU, or on its CPU where there is none.
 *
 * ```ts
 * const v1 = createV1({ engine: webgpu({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 *
 * `offer` and `withdraw` add and take away models while it runs.
 */
export function webgpu(options: WebGpuOptions): WebGpu {
  // The script of this worker was started once more, for a thread of another's.
  becomeThread()
  const { device = 'auto', threads, log: warn = console.info } = options
  const cache = cacheOf(options)
  return new WebGpuEngine(options, {
    openDevice: () => chooseDevice(device, threads),
    openRepository: ({ location }, report, signal, check) =>
      openRepository(location, { report, signal, cache, check, warn }),
    describe: ({ location }, signal) => describeRepository(location, { signal, cache }),
    siblings: ({ location }, signal) => siblingsOf(location, { signal, cache }),
    keptOf: async ({ location }) => ({
      bytes: await keptOf(location, cache),
      whole: await isWhole(location, cache),
    }),
    forget: ({ location }) => forget(location, cache),
  })
}

function cacheOf({ cache, crossOriginStorage: wanted = false, log = console.info }: WebGpuOptions): CacheChoice {
  if (wanted === false || cache === false) return cache
  const shared = crossOriginStorage()
  if (shared) return sharedStore(storeFor(cache), shared, wanted)
  log('There is no Cross-Origin Storage here: models are kept for this site alone.')
  return cache
}
