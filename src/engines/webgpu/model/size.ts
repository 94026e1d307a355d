/** What a model will take on a device, and what of it fits, known before anything is uploaded. */
import { V1Error } from '../../../errors.js'
import { type Device, PAGE } from '../device/device.js'
import type { WeightSource } from '../weights/source.js'
import type { DecoderConfig } from './config.js'

export interface SizeOptions {
  /** The model's name, for messages. @default 'The model' */
  readonly name?: string
  /** Ids that the tokenizer knows; those above are never sampled. @default all logits */
  readonly tokens?: number
  /** The longest sequence. @default the model's, at most 8192 */
  readonly contextLength?: number
  /** Tokens that the cache holds over all sequences. @default up to `maxBatch` whole contexts within 512 MiB */
  readonly cacheTokens?: number
  /** Sequences that one step advances. @default 8 */
  readonly maxBatch?: number
  /** Tokens that one step should append to one sequence. @default 256 on a GPU, 64 on the CPU */
  readonly maxChunk?: number
}

/** Sizes of everything that is allocated once. */
export interface ModelSize {
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  /** Tokens of one pass. */
  readonly rows: number
  /** Ids that can be sampled. */
  readonly tokens: number
  readonly cacheType: 'f16' | 'f32'
  readonly pages: number
  readonly bytes: {
    readonly weights: number
    readonly cache: number
    /** Activations, logits, tables. */
    readonly work: number
    readonly total: number
  }
}

const CONTEXT = 8192
const CACHE_BYTES = 512 * 1048576
/** Positions without which no conversation is possible. */
const LEAST = 4 * PAGE
const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** Throws an error that says what is short. */
export function sizeOf(
  device: Device,
  config: DecoderConfig,
  source: Pick<WeightSource, 'names' | 'describe'>,
  options: SizeOptions = {},
): ModelSize {
  const { limits } = device
  const name = options.name ?? 'The model'
  if (config.headSize > limits.headSize) throw short(name, `heads of ${config.headSize} values`, `${limits.headSize}`)
  const maxBatch = options.maxBatch ?? 8
  const maxChunk = Math.min(options.maxChunk ?? (device.info.kind === 'cpu' ? 64 : 256), limits.rows - maxBatch)
  const rows = maxChunk + maxBatch
  const tokens = Math.min(options.tokens ?? config.vocabulary, config.vocabulary)
  const cacheType = isWide(source) ? 'f32' : 'f16'
  const perLayer = 2 * config.keyHeads * config.headSize * (cacheType === 'f16' ? 2 : 4)
  const perToken = perLayer * config.layers
  const wantedContext = Math.min(options.contextLength ?? CONTEXT, config.contextLength)
  const roomy = Math.floor(CACHE_BYTES / perToken)
  const wanted = options.cacheTokens ?? Math.max(wantedContext, Math.min(wantedContext * maxBatch, roomy))
  const weights = weightBytes(source)
  const work = workBytes(config, { rows, maxBatch, tokens, context: wantedContext })
  // One page more per sequence: each leaves its last page partly empty.
  const aside = maxBatch * PAGE
  const least = Math.min(wanted, LEAST) + aside
  if (limits.tensorBytes < least * perLayer) {
    throw short(name, `${bytes(least * perLayer)} in one buffer for a layer's cache`, bytes(limits.tensorBytes))
  }
  const total = limits.totalBytes ?? Number.POSITIVE_INFINITY
  if (total < weights + work + least * perToken) {
    const parts = `${bytes(weights)} for weights, ${bytes(work)} for work and ${bytes(least * perToken)} for the cache`
    throw short(name, parts, `${bytes(total)} in all`)
  }
  const inOneBuffer = Math.floor(limits.tensorBytes / perLayer)
  const inAll = Math.floor((total - weights - work) / perToken)
  const cacheTokens = Math.min(wanted, Math.min(inOneBuffer, inAll) - aside)
  const pages = Math.ceil((cacheTokens + aside) / PAGE)
  const cache = pages * PAGE * perToken
  return {
    contextLength: Math.min(wantedContext, cacheTokens),
    maxBatch,
    maxChunk,
    rows,
    tokens,
    cacheType,
    pages,
    bytes: { weights, cache, work, total: weights + cache + work },
  }
}

function weightBytes(source: Pick<WeightSource, 'names' | 'describe'>): number {
  let sum = 0
  for (const name of source.names) {
    const { shape, dtype } = source.describe(name)
    sum += shape.reduce((product, side) => product * side, SIZES[dtype])
  }
  return sum
}

/** Weights in full precision deserve a cache in full precision. */
function isWide(source: Pick<WeightSource, 'names' | 'describe'>): boolean {
  return source.names.some((name) => /norm\.weight$/.test(name) && source.describe(name).dtype === 'f32')
}

interface Work {
  readonly rows: number
  readonly maxBatch: number
  readonly tokens: number
  readonly context: number
}

/** What a pass writes between its operations, normed rows and a sampler's values among it; all in f32. */
function workBytes(config: DecoderConfig, { rows, maxBatch, tokens, context }: Work): number {
  const { hidden, heads, keyHeads, headSize, intermediate, vocabulary } = config
  const perRow = 2 * hidden + (2 * heads + 2 * keyHeads) * headSize + intermediate
  const perLogits = 2 * hidden + heads * headSize + vocabulary + tokens
  return 4 * (rows * perRow + maxBatch * perLogits + context * headSize)
}

function short(name: string, needed: string, has: string): V1Error {
  return new V1Error(503, `${name} does not fit this device: it needs ${needed}, and the device allows ${has}.`, {
    code: 'device_too_small',
    headers: { 'x-should-retry': 'false' },
  })
}

function bytes(count: number): string {
  return count < 1048576 ? `${count} bytes` : `${Math.ceil(count / 1048576)} MiB`
}
