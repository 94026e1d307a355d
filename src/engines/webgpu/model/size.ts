/** What a model will take on a device, and what of it fits, known before anything is downloaded or uploaded. */
import { V1Error } from '../../../errors.js'
import type { WeightOutline } from '../../../repository/source.js'
import { type Device, PAGE } from '../contract.js'
import { joinsApart, type ModelPlan, NORMS } from './model-plan.js'
import type { PlannedMatrix, PlannedTensors } from './plan-tensors.js'

export interface SizeOptions {
  /** The model's name, for messages. @default 'The model' */
  readonly name?: string
  /** The longest sequence. @default the model's, at most 8192 */
  readonly contextLength?: number
  /** Tokens that the cache holds over all sequences. @default see `defaultCacheTokens` */
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
/** The most that the default cache takes for more than one whole context. */
const CACHE_BYTES = 512 * 1048576
/** What each further sequence of a batch gets beside one whole context: most are short. */
const FURTHER = 512
/** Positions without which no conversation is possible. */
const LEAST = 4 * PAGE

/** Throws an error that says what is short. */
export function sizeOf(
  device: Device,
  model: ModelPlan,
  tensors: PlannedTensors,
  outline: Pick<WeightOutline, 'naming' | 'names' | 'describe'>,
  options: SizeOptions = {},
): ModelSize {
  const { limits } = device
  const name = options.name ?? 'The model'
  const { keyHeads, headSize } = model.layers[0]!
  if (headSize > limits.headSize) throw short(name, `heads of ${headSize} values`, `${limits.headSize}`)
  const maxBatch = options.maxBatch ?? 8
  const maxChunk = Math.min(options.maxChunk ?? (device.info.kind === 'cpu' ? 64 : 256), limits.rows - maxBatch)
  const rows = maxChunk + maxBatch
  const cacheType = isWide(outline) ? 'f32' : 'f16'
  const perLayer = 2 * keyHeads * headSize * (cacheType === 'f16' ? 2 : 4)
  const perToken = perLayer * model.layers.length
  const wantedContext = Math.min(options.contextLength ?? CONTEXT, model.contextLength)
  const roomy = Math.floor(Math.min(CACHE_BYTES, limits.tensorBytes / 2) / perToken)
  const wanted = options.cacheTokens ?? defaultCacheTokens(wantedContext, maxBatch, roomy)
  const weights = weightBytes(device, tensors)
  const work = workBytes(model, device, { rows, maxBatch, context: wantedContext })
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
    cacheType,
    pages,
    bytes: { weights, cache, work, total: weights + cache + work },
  }
}

/** One whole context, and a little for each further sequence where there is room for it. */
export function defaultCacheTokens(context: number, maxBatch: number, roomy: number): number {
  const further = Math.min(context, FURTHER) * (maxBatch - 1)
  return Math.max(context, Math.min(context + further, roomy))
}

function weightBytes(device: Device, { embedding, head, norm, layers }: PlannedTensors): number {
  const matrix = ({ rows, columns, stored, scaleType, quantize, bias }: PlannedMatrix): number => {
    const format = quantize ? 'q4' : stored
    return device.matrixBytes({ format, rows, columns, scaleType }) + 4 * (bias?.length ?? 0)
  }
  let sum = matrix(embedding) + (head ? matrix(head) : 0) + 4 * norm.length
  for (const layer of layers) {
    for (const one of [layer.qkv, layer.output, layer.gateUp, layer.down]) sum += matrix(one)
    for (const role of NORMS) sum += 4 * (layer[role]?.length ?? 0)
  }
  return sum
}

/** Weights in full precision deserve a cache in full precision. */
function isWide(source: Pick<WeightOutline, 'naming' | 'names' | 'describe'>): boolean {
  // There norms are always in full precision.
  if (source.naming === 'gguf') {
    return source.names.includes('token_embd.weight') && source.describe('token_embd.weight').dtype === 'f32'
  }
  return source.names.some((name) => /norm\.weight$/.test(name) && source.describe(name).dtype === 'f32')
}

interface Work {
  readonly rows: number
  readonly maxBatch: number
  readonly context: number
}

/** What a pass writes between its operations, normed rows and a sampler's values among it; all in f32. */
function workBytes(model: ModelPlan, { info }: Device, of: Work): number {
  const { rows, maxBatch, context } = of
  const { hidden, vocabulary, layers } = model
  const { heads, keyHeads, headSize, intermediate } = layers[0]!
  const tables = new Set(layers.map(({ angles }) => JSON.stringify(angles))).size
  const perRow = (joinsApart(model) ? 3 : 2) * hidden + (2 * heads + 2 * keyHeads) * headSize + intermediate
  const perLogits = 2 * hidden + heads * headSize + vocabulary
  // The CPU keeps activations beside them in the form in which they are multiplied, and samples row by row.
  const cpu = info.kind === 'cpu'
  const prepared = cpu ? rows * (hidden + heads * headSize + intermediate) + maxBatch * (hidden + heads * headSize) : 0
  const sampler = (cpu ? 4 : maxBatch) * vocabulary
  return 4 * (rows * perRow + maxBatch * perLogits + prepared + sampler + tables * context * headSize)
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
