/** Whether a model would run here and how fast, from the headers of its files, before anything is downloaded. */

import type { Device } from '../../device/index.js'
import { GREEDY } from '../../generate/index.js'
import { loadCore, type RawTensor, siblingsOf, surveyRepository, type WeightSource } from '../../models/index.js'
import type { CacheTypeChoice } from '../../platform/index.js'
import { alternatives, type Remedy, sizeWithin } from './alternatives.js'
import { chooseDevice } from './choose-device.js'
import { offeredModel } from './location.js'
import type { MemoryParts } from './memory-parts.js'
import type { DevicePreference, ModelOptions, OfferedModel } from './options.js'

export interface Fit {
  readonly id: string
  /** Of all files that it needs; `leftBytes` of those that are not here yet. */
  readonly downloadBytes: number
  readonly leftBytes: number
  /** The memory that it would need. Absent, like `contextLength`: it does not fit. */
  readonly memoryBytes?: number
  /** The same, by use. */
  readonly memory?: MemoryParts
  readonly contextLength?: number
  /** One answer at a time, after a short prompt. */
  readonly tokensPerSecond?: number
  /** Why it does not fit. */
  readonly lacks?: string
  /** What would fit, each with the memory that it needs. */
  readonly instead: readonly Remedy[]
}

export type { Remedy } from './alternatives.js'

export interface FitOptions {
  /** @default the model's own, at most 8192 */
  readonly contextLength?: number
  /** As for the models of `webgpu`. */
  readonly cacheType?: CacheTypeChoice
  /** Where downloaded files are stored: these need no download. @default as for `webgpu` */
  readonly cache?: string | false
  /** Ends the check. */
  readonly signal?: AbortSignal
}

/** Says of models whether they fit this device. */
export interface Fitter {
  readonly device: string
  /** Throws if the model cannot be read at all. */
  fit(model: string | ModelOptions, options?: FitOptions): Promise<Fit>
  close(): void
}

/**
 * Opens the device and measures it for less than two seconds. Then `fit` says of any model whether it fits and how fast it
 * would be, from the headers of its files. `free`: the bytes that models may take, if less than the device's own limits.
 *
 * ```ts
 * const fitter = await openFitter()
 * const { memoryBytes, tokensPerSecond, lacks } = await fitter.fit('hf:Qwen/Qwen3-0.6B-GGUF:Q8_0')
 * ```
 */
export async function openFitter(
  preference: DevicePreference = 'auto',
  free = Number.POSITIVE_INFINITY,
): Promise<Fitter> {
  const device = await chooseDevice(preference)
  const seconds = await probe(device)
  return {
    device: device.info.name,
    async fit(name, { contextLength, cacheType, cache, signal = new AbortController().signal } = {}) {
      const model: OfferedModel = {
        ...offeredModel(name),
        ...(contextLength !== undefined && { contextLength }),
        ...(cacheType !== undefined && { cacheType }),
      }
      const { outline, bytes, left } = await surveyRepository(model.location, { cache, signal })
      const sized = sizeWithin(device, outline, free)
      const found = sized(model)
      const known = { id: model.id, downloadBytes: bytes, leftBytes: left }
      if (typeof found === 'string') {
        const siblings = await siblingsOf(model.location, { cache, signal })
        return { ...known, lacks: found, instead: alternatives(model, { device, outline, free, siblings, bytes }) }
      }
      return {
        ...known,
        memoryBytes: found.memoryBytes,
        memory: found.memory,
        contextLength: found.contextLength,
        ...(found.layers !== undefined && { tokensPerSecond: 1 / seconds(found.layers, found.memory.weights) }),
        instead: [],
      }
    },
    close: () => device.destroy(),
  }
}

const SHAPES = [
  { hidden: 256, inner: 512, layers: 8, vocabulary: 512 },
  { hidden: 1024, inner: 4096, layers: 2, vocabulary: 512 },
] as const
type Shape = (typeof SHAPES)[number]
const PROBE_MS = 600

/** Seconds for a token, by layers and bytes of weights: from two models, one of many layers, one of large ones. */
async function probe(device: Device): Promise<(layers: number, bytes: number) => number> {
  const points: { layers: number; bytes: number; seconds: number }[] = []
  for (const shape of SHAPES) {
    const core = await loadCore(device, zeros(shape), { contextLength: 256, maxBatch: 1 })
    const sequence = core.open()
    const step = () => core.step([{ sequence, tokens: [1], sample: GREEDY }])
    for (let i = 0; i < 3; i++) await step()
    const start = performance.now()
    let steps = 0
    while (performance.now() - start < PROBE_MS && steps < 200) {
      await step()
      steps++
    }
    const seconds = (performance.now() - start) / 1000 / steps
    points.push({ layers: shape.layers, bytes: bytesOf(shape), seconds })
    sequence.close()
    await core.close()
  }
  const [many, large] = points as [(typeof points)[0], (typeof points)[0]]
  // seconds = layers * each + bytes * pace, for both.
  const pace = Math.max(
    1e-12,
    (large.seconds * many.layers - many.seconds * large.layers) /
      (large.bytes * many.layers - many.bytes * large.layers),
  )
  const each = Math.max(0, (many.seconds - many.bytes * pace) / many.layers)
  return (layers, bytes) => layers * each + bytes * pace
}

/** Speed does not hang on the values. */
function zeros({ hidden, inner, layers, vocabulary }: Shape): WeightSource {
  const shapes = new Map<string, Omit<RawTensor, 'name' | 'data'>>()
  const matrix = (name: string, rows: number, columns: number) => {
    shapes.set(`${name}.q_weight`, { shape: [rows, columns / 8], dtype: 'u32' })
    shapes.set(`${name}.q_scale`, { shape: [rows, columns / 32], dtype: 'f16' })
  }
  const norm = (name: string) => shapes.set(`${name}.weight`, { shape: [hidden], dtype: 'f16' })
  matrix('model.embed_tokens', vocabulary, hidden)
  norm('model.norm')
  for (let i = 0; i < layers; i++) {
    const at = `model.layers.${i}`
    norm(`${at}.input_layernorm`)
    norm(`${at}.post_attention_layernorm`)
    matrix(`${at}.self_attn.qkv_proj`, 3 * hidden, hidden)
    matrix(`${at}.self_attn.o_proj`, hidden, hidden)
    matrix(`${at}.mlp.gate_up_proj`, 2 * inner, hidden)
    matrix(`${at}.mlp.down_proj`, hidden, inner)
  }
  const describe = (name: string) => ({ name, ...shapes.get(name)! })
  return {
    chatConfig: {
      ...{ model_type: 'llama', hidden_size: hidden, intermediate_size: inner, num_hidden_layers: layers },
      ...{ num_attention_heads: hidden / 64, vocab_size: vocabulary, tie_word_embeddings: true },
    },
    names: [...shapes.keys()],
    describe,
    has: (name) => shapes.has(name),
    digest: 'probe',
    async read(name) {
      const { shape, dtype } = describe(name)
      return { ...describe(name), data: new Uint8Array(shape.reduce((a, b) => a * b, dtype === 'u32' ? 4 : 2)) }
    },
  }
}

/** Of four bits and a scale for every 32. */
const bytesOf = ({ hidden, inner, layers, vocabulary }: Shape) =>
  (layers * (4 * hidden * hidden + 3 * hidden * inner) + vocabulary * hidden) * (18 / 32)
