/** A model repository's weights on a device, ready to run. */

import { type Device, PAGE } from '../device/index.js'
import { Core } from './core.js'
import { Decoder } from './decoder.js'
import type { WeightSource } from './files/source.js'
import { planKept, type SequenceMemory } from './kept.js'
import type { ModelPlan } from './model-plan.js'
import { type LoadPlan, type PlanOptions, planModel } from './plan-model.js'
import type { ModelSize } from './size.js'
import { TensorLoader } from './tensors.js'
import { loadWeights } from './weights.js'

export interface LoadOptions {
  /** Ids that the tokenizer knows; those above are never sampled. @default all logits */
  readonly tokens?: number
  /** Called as layers reach the device. */
  readonly onProgress?: (layers: number, of: number) => void
  readonly signal?: AbortSignal
  /** Called once the model has given back all that it took of the device. */
  readonly onReleased?: () => void
}

/** Plans and loads. Fails with a `V1Error` that says what is unknown, malformed or short; nothing stays allocated then. */
export async function loadCore(
  device: Device,
  source: WeightSource,
  options: LoadOptions & PlanOptions = {},
): Promise<Core> {
  return loadPlanned(device, source, planModel(source, device, options), options)
}

/** As `loadCore`, by a plan that `planModel` has made for this device. */
export async function loadPlanned(
  device: Device,
  source: WeightSource,
  { model, tensors, size }: LoadPlan,
  options: LoadOptions = {},
): Promise<Core> {
  const { contextLength, maxBatch, maxChunk, rows, wanted, cacheType, pages } = size
  const { vocabulary } = model
  const loader = new TensorLoader(device, source, options.signal)
  try {
    device.reserve?.(size.bytes.total)
    const weights = await loadWeights(loader, model, tensors, contextLength, options.onProgress)
    await loader.close()
    const kept = keep(device, model, size, loader.made)
    const known = Math.min(options.tokens ?? vocabulary, vocabulary)
    const sampler = device.sampler({ vocabulary, tokens: known, rows: maxBatch, slots: 4 * maxBatch })
    loader.made.push(sampler)
    const decoder = new Decoder(device, model, weights, kept, rows, wanted)
    loader.made.push(decoder)
    // A GPU says late that it had no room; what runs later must not find that out.
    await device.idle()
    return new Core({
      device,
      decoder,
      sampler,
      kept,
      pages,
      vocabSize: vocabulary,
      contextLength,
      maxBatch,
      maxChunk,
      rows,
      wanted,
      fingerprint: fingerprint(source.digest, device, { model, embedding: tensors.embedding, cacheType }),
      release: () => {
        free(loader.made)
        options.onReleased?.()
      },
    })
  } catch (error) {
    await loader.close()
    free(loader.made)
    throw error
  }
}

/** Pages that a cache that grows begins with: those of a short chat and of its next turns. */
const FIRST = 1024 / PAGE

/** Room for what layers keep of sequences. */
function keep(device: Device, model: ModelPlan, size: ModelSize, made: { destroy(): void }[]): SequenceMemory {
  const { pages, window, windowPages, cacheType: type, slots } = size
  const plan = planKept(model, windowPages > 0)
  const caches = plan.caches.map((shape) => {
    const cache = device.cache({
      ...shape,
      ...(shape.sliding ? { pages: windowPages } : { pages, first: FIRST }),
      type,
    })
    made.push(cache)
    return cache
  })
  const kept = { plan, caches, ...(windowPages > 0 && { windows: { pages: windowPages, window } }) }
  if (slots === 0) return kept
  const states = device.states({ slots, sizes: plan.states })
  made.push(states)
  return { ...kept, states }
}

function free(made: readonly { destroy(): void }[]): void {
  for (const resource of made) resource.destroy()
}

/** FNV-1a over everything that decides which tokens come out. */
function fingerprint(digest: string, device: Device, rest: object): string {
  const text = [digest, device.info.kind, device.info.kernels, JSON.stringify(rest)].join('\n')
  let low = 0x811c9dc5
  let high = 0x01000193
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193)
    high = Math.imul(high ^ text.charCodeAt(i), 0x85ebca6b)
  }
  return `fp_${hex(high)}${hex(low).slice(0, 4)}`
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0')
}
