/** A model repository's weights on a device, ready to run. */

import type { PointingModel } from '../contract/index.js'
import { type Device, PAGE } from '../device/index.js'
import { meanCost } from './cache-cost.js'
import { Core } from './core.js'
import { Decoder } from './decoder.js'
import type { WeightSource } from './files/source.js'
import { planKept, type SequenceMemory } from './kept.js'
import type { ModelPlan } from './model-plan.js'
import { type LoadPlan, type PlanOptions, planModel } from './plan-model.js'
import { pointingOf } from './pointing/load-pointing.js'
import { loadPointing } from './pointing/pointing-weights.js'
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
  /** Of a model whose plan leaves open whether its cache is in 8 bits. @default it is not */
  readonly trial?: CacheTrial
}

export interface CacheTrial {
  /** In tokens, at least one. */
  readonly text: readonly number[]
  /**
   * Whether the cache is to be in 8 bits. `identity` names all that this hangs on: the text, the weights, the device's kernels.
   * `measure` reads the text with both caches, for the mean divergence in nats.
   */
  choose(identity: string, measure: () => Promise<number>): Promise<boolean>
}

interface Made {
  destroy(): void
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
  { model, tensors, size: planned, packed, pointing: planPointing }: LoadPlan,
  options: LoadOptions = {},
): Promise<Core> {
  const { contextLength, maxBatch } = planned
  const { vocabulary } = model
  const loader = new TensorLoader(device, source, options.signal)
  try {
    device.reserve?.(planned.bytes.total)
    const weights = await loadWeights(loader, model, tensors, contextLength, options.onProgress)
    const ofPointing = planPointing && (await loadPointing(loader, planPointing, weights))
    await loader.close()
    const known = Math.min(options.tokens ?? vocabulary, vocabulary)
    const sampler = device.sampler({ vocabulary, tokens: known, rows: maxBatch, slots: 4 * maxBatch })
    loader.made.push(sampler)
    const named = (rest: object) => fingerprint(source.digest, device, { model, embedding: tensors.embedding, ...rest })
    const coreOf = (size: ModelSize, made: Made[], release: () => void, pointing?: PointingModel) => {
      const kept = keep(device, model, size, made)
      const decoder = new Decoder(device, model, weights, kept, size.rows, size.wanted)
      made.push(decoder)
      const { pages, contextLength, maxBatch, maxChunk, rows, wanted, cacheType } = size
      const sizes = { pages, vocabSize: vocabulary, contextLength, maxBatch, maxChunk, rows, wanted }
      const more = pointing && { pointing }
      return new Core({ device, decoder, sampler, kept, ...sizes, fingerprint: named({ cacheType }), release, ...more })
    }
    const measure = async (text: readonly number[], of: readonly ModelSize[]) => {
      const made: Made[] = []
      try {
        const [plain, eight] = of.map((size) => coreOf(brief(size, text.length), made, () => {}))
        return await meanCost(plain!, eight!, text, known, options.signal)
      } finally {
        await device.idle().catch(() => undefined)
        free(made)
      }
    }
    let size = planned
    if (packed && options.trial) {
      const { text, choose } = options.trial
      if (await choose(named({ text }), () => measure(text, [planned, packed]))) size = packed
    }
    const pointing = ofPointing && pointingOf(device, loader, model, ofPointing, source.digest)
    const release = () => {
      free(loader.made)
      options.onReleased?.()
    }
    const core = coreOf(size, loader.made, release, pointing)
    // A GPU says late that it had no room; what runs later must not find that out.
    await device.idle()
    return core
  } catch (error) {
    await loader.close()
    free(loader.made)
    throw error
  }
}

/** For one text and no more. Layers with a window keep all of it. */
function brief(size: ModelSize, tokens: number): ModelSize {
  const pages = Math.ceil(tokens / PAGE) + 1
  return { ...size, contextLength: tokens, pages, windowPages: 0, slots: Math.min(size.slots, BRIEF_SLOTS) }
}

/** Of states: what a text stands at, what it comes to, and to spare. */
const BRIEF_SLOTS = 4

/** Pages that a cache that grows begins with: those of a short chat and of its next turns. */
const FIRST = 1024 / PAGE

/** Room for what layers keep of sequences. */
function keep(device: Device, model: ModelPlan, size: ModelSize, made: Made[]): SequenceMemory {
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

function free(made: readonly Made[]): void {
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
