/** What a model takes on a device, known before anything is uploaded. */
import { V1Error } from '../../../errors.js'
import { type Device, PAGE } from '../device/device.js'
import type { WeightSource } from '../weights/source.js'
import type { DecoderConfig } from './config.js'

export interface ModelSize {
  readonly weightBytes: number
  readonly largestTensor: { readonly name: string; readonly bytes: number }
  /** Keys and values of one token. */
  readonly cacheBytesPerToken: number
}

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

export function sizeOf(config: DecoderConfig, source: WeightSource, cacheType: 'f16' | 'f32'): ModelSize {
  let weightBytes = 0
  let largestTensor = { name: '', bytes: 0 }
  for (const name of source.names) {
    const { shape, dtype } = source.describe(name)
    const bytes = shape.reduce((product, side) => product * side, SIZES[dtype])
    weightBytes += bytes
    if (bytes > largestTensor.bytes) largestTensor = { name, bytes }
  }
  const perValue = cacheType === 'f16' ? 2 : 4
  const cacheBytesPerToken = 2 * config.layers * config.keyHeads * config.headSize * perValue
  return { weightBytes, largestTensor, cacheBytesPerToken }
}

/** Throws an error that says what is short; returns the number of tokens that the cache can hold. */
export function fitCache(device: Device, config: DecoderConfig, size: ModelSize, name: string, tokens: number): number {
  const { tensorBytes, totalBytes, headSize } = device.limits
  const { largestTensor: largest } = size
  if (config.headSize > headSize) throw short(name, `heads of ${config.headSize} values`, `${headSize}`)
  if (largest.bytes > tensorBytes) {
    throw short(name, `one buffer of ${megabytes(largest.bytes)} for ${largest.name}`, megabytes(tensorBytes))
  }
  const perLayer = size.cacheBytesPerToken / config.layers
  let fits = Math.floor(tensorBytes / perLayer)
  if (totalBytes !== undefined) {
    fits = Math.min(fits, Math.floor((totalBytes - size.weightBytes) / size.cacheBytesPerToken))
  }
  if (fits < PAGE * 4) {
    const needed = size.weightBytes + size.cacheBytesPerToken * PAGE * 4
    throw short(name, `${megabytes(needed)} for weights and cache`, megabytes(totalBytes ?? tensorBytes))
  }
  return Math.min(tokens, fits)
}

function short(name: string, needed: string, has: string): V1Error {
  return new V1Error(503, `${name} does not fit this device: it needs ${needed}, and the device allows ${has}.`, {
    code: 'device_too_small',
    headers: { 'x-should-retry': 'false' },
  })
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1048576)} MiB`
}
