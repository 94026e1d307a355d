import { assertRevectorize, becomeThread } from '../../device/index.js'
import { assertDraftMode } from '../../generate/index.js'
import { assertOptions } from '../../platform/index.js'
import type { WebGpu } from './engine.js'
import { webgpuHere } from './here.js'
import { WEBGPU_OPTIONS, type WebGpuOptions } from './options.js'
import { webgpuInWorker } from './worker/in-worker.js'
import { findScript } from './worker/script.js'

export type { FreeOptions, KeepOptions, KeptFile, NamedBlob, StorageOptions, StoredModel } from '../../models/index.js'
export { freeStorage, keepFile, keptFiles, removeFile, storedModels } from '../../models/index.js'
export type { WebGpu } from './engine.js'
export type { Fit, FitOptions, Fitter } from './fit.js'
export { openFitter } from './fit.js'
export type { MemoryParts } from './memory-parts.js'
export type { Calibration, DevicePreference, ModelOptions, WebGpuOptions } from './options.js'

/**
 * Language models on this device, in TypeScript and WGSL: on its GPU, or on its CPU where there is none.
 *
 * ```ts
 * const v1 = createV1({ engine: webgpu({ models: ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC'] }), keys: 'none' })
 * ```
 *
 * In Node, Deno and Bun all of it computes in a worker, and the thread of the application stays free; see `worker`.
 * `offer` and `withdraw` add and take away models while it runs.
 */
export function webgpu(options: WebGpuOptions): WebGpu {
  // The script of this worker was started once more, for a thread of another's.
  becomeThread()
  assertOptions('webgpu', options, WEBGPU_OPTIONS)
  assertDraftMode('webgpu', options?.drafts)
  assertRevectorize('webgpu', options?.revectorize)
  const script = options?.worker === false ? undefined : findScript()
  if (script === undefined) return webgpuHere(options)
  if (typeof script === 'function') return webgpuInWorker(options, script)
  return webgpuHere(options, { worker: false, worker_reason: script.refused })
}
