/** A model repository's weights on a device, ready to run. */
import { Core } from '../core.js'
import { type Device, PAGE } from '../device/device.js'
import type { WeightSource } from '../weights/source.js'
import { type DecoderConfig, readDecoderConfig } from './config.js'
import { Decoder } from './decoder.js'
import { fitCache, sizeOf } from './size.js'
import { TensorLoader } from './tensors.js'
import { loadWeights } from './weights.js'

export interface CoreOptions {
  /** The model's name, for messages. @default 'The model' */
  name?: string
  /** Ids that the tokenizer knows; those above are never sampled. @default all logits */
  tokens?: number
  /** The longest sequence. @default the model's, at most 8192 */
  contextLength?: number
  /** Tokens that the cache holds over all sequences. @default up to `maxBatch` whole contexts within 512 MiB */
  cacheTokens?: number
  /** Sequences that one step advances. @default 8 */
  maxBatch?: number
  /** Tokens that one step should append to one sequence. @default 256 on a GPU, 64 on the CPU */
  maxChunk?: number
  /** Called as layers reach the device. */
  onProgress?: (layers: number, of: number) => void
  signal?: AbortSignal
}

const CONTEXT = 8192
const CACHE_BYTES = 512 * 1048576

/** Fails with a `V1Error` that says what is unknown, malformed or short; nothing stays allocated then. */
export async function loadCore(device: Device, source: WeightSource, options: CoreOptions = {}): Promise<Core> {
  const name = options.name ?? 'The model'
  const config = readDecoderConfig(source.chatConfig, name)
  const maxBatch = options.maxBatch ?? 8
  const maxChunk = Math.min(options.maxChunk ?? (device.info.kind === 'cpu' ? 64 : 256), device.limits.rows - maxBatch)
  const cacheType = isWide(source) ? 'f32' : 'f16'
  const size = sizeOf(config, source, cacheType)
  let contextLength = Math.min(options.contextLength ?? CONTEXT, config.contextLength)
  const roomy = Math.floor(CACHE_BYTES / size.cacheBytesPerToken)
  const wanted = options.cacheTokens ?? Math.max(contextLength, Math.min(contextLength * maxBatch, roomy))
  const cacheTokens = fitCache(device, config, size, name, wanted)
  contextLength = Math.min(contextLength, cacheTokens)
  // One page more per sequence: each leaves its last page partly empty.
  const pages = Math.ceil(cacheTokens / PAGE) + maxBatch
  const loader = new TensorLoader(device, source, options.signal)
  try {
    const weights = await loadWeights(loader, config, contextLength, options.onProgress)
    const { layers, keyHeads: heads, headSize, vocabulary } = config
    const cache = device.cache({ layers, pages, heads, headSize, type: cacheType })
    loader.made.push(cache)
    const tokens = Math.min(options.tokens ?? vocabulary, vocabulary)
    const sampler = device.sampler({ vocabulary, tokens, rows: maxBatch, slots: 4 * maxBatch })
    loader.made.push(sampler)
    const rows = maxChunk + maxBatch
    const decoder = new Decoder(device, config, weights, cache, rows, maxBatch)
    loader.made.push(decoder)
    return new Core({
      device,
      decoder,
      sampler,
      cache,
      vocabSize: vocabulary,
      contextLength,
      maxBatch,
      maxChunk,
      rows,
      fingerprint: fingerprint(source, device, config, cacheType),
      release: () => free(loader.made),
    })
  } catch (error) {
    free(loader.made)
    throw error
  }
}

function free(made: readonly { destroy(): void }[]): void {
  for (const resource of made) resource.destroy()
}

/** Weights in full precision deserve a cache in full precision. */
function isWide(source: WeightSource): boolean {
  return source.names.some((name) => /norm\.weight$/.test(name) && source.describe(name).dtype === 'f32')
}

/** FNV-1a over everything that decides which tokens come out. */
function fingerprint(source: WeightSource, device: Device, config: DecoderConfig, cacheType: string): string {
  const text = [source.digest, device.info.kind, device.info.kernels, cacheType, JSON.stringify(config)].join('\n')
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
