/** A model repository's weights on a device, ready to run. */
import { Core } from '../core.js'
import type { Device } from '../device/device.js'
import type { WeightSource } from '../weights/source.js'
import { type DecoderConfig, readDecoderConfig } from './config.js'
import { Decoder } from './decoder.js'
import { type SizeOptions, sizeOf } from './size.js'
import { TensorLoader } from './tensors.js'
import { loadWeights } from './weights.js'

export interface CoreOptions extends SizeOptions {
  /** Called as layers reach the device. */
  readonly onProgress?: (layers: number, of: number) => void
  readonly signal?: AbortSignal
}

/** Fails with a `V1Error` that says what is unknown, malformed or short; nothing stays allocated then. */
export async function loadCore(device: Device, source: WeightSource, options: CoreOptions = {}): Promise<Core> {
  const config = readDecoderConfig(source.chatConfig, options.name ?? 'The model')
  const { contextLength, maxBatch, maxChunk, rows, tokens, cacheType, pages } = sizeOf(device, config, source, options)
  const loader = new TensorLoader(device, source, options.signal)
  try {
    const weights = await loadWeights(loader, config, contextLength, options.onProgress)
    const { layers, keyHeads: heads, headSize, vocabulary } = config
    const cache = device.cache({ layers, pages, heads, headSize, type: cacheType })
    loader.made.push(cache)
    const sampler = device.sampler({ vocabulary, tokens, rows: maxBatch, slots: 4 * maxBatch })
    loader.made.push(sampler)
    const decoder = new Decoder(device, config, weights, cache, rows, maxBatch)
    loader.made.push(decoder)
    // A GPU says late that it had no room; what runs later must not find that out.
    await device.idle()
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
