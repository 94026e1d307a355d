/** What a model will take on a device, and what of it fits, known before anything is downloaded or uploaded. */
import { V1Error } from '../../../errors.js'
import type { WeightOutline } from '../../../repository/source.js'
import { type Device, PAGE } from '../contract.js'
import { hostBytes } from './host-rows.js'
import { type KeptPlan, planKept, tokenBytes } from './kept.js'
import { mixerOf } from './mixers/index.js'
import { joinsApart, type ModelPlan } from './model-plan.js'
import { bandForms, type PlannedMatrix, type PlannedTensors } from './planned.js'

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
  /** Slots for states: one for each sequence of a batch, the others for what is kept to go back to. */
  readonly slots: number
  readonly bytes: {
    readonly weights: number
    readonly cache: number
    readonly states: number
    /** Activations, logits, tables. */
    readonly work: number
    /** Of the device. */
    readonly total: number
    /** What stays with the host beside that. */
    readonly host: number
  }
}

const CONTEXT = 8192
/** The most that the default cache takes for more than one whole context. */
const CACHE_BYTES = 512 * 1048576
/** What each further sequence of a batch gets beside one whole context: most are short. */
const FURTHER = 512
/** What the states that are kept to go back to may take, and the most of them. */
const STATE_BYTES = 128 * 1048576
const MOST_STATES = 64
/** Positions without which no conversation is possible. */
const LEAST = 4 * PAGE

/** Throws an error that says what is short. */
export function sizeOf(
  device: Device,
  model: ModelPlan,
  tensors: PlannedTensors,
  outline: WeightOutline,
  options: SizeOptions = {},
): ModelSize {
  const { limits } = device
  const name = options.name ?? 'The model'
  const kept = planKept(model)
  const headSize = Math.max(...kept.caches.map((cache) => cache.headSize))
  if (headSize > limits.headSize) throw short(name, `heads of ${headSize} values`, `${limits.headSize}`)
  const maxBatch = options.maxBatch ?? 8
  const maxChunk = Math.min(options.maxChunk ?? (device.info.kind === 'cpu' ? 64 : 256), limits.rows - maxBatch)
  const rows = maxChunk + maxBatch
  const cacheType = isWide(outline) ? 'f32' : 'f16'
  const { all: perToken, most: perLayer } = tokenBytes(kept, cacheType)
  const wantedContext = Math.min(options.contextLength ?? CONTEXT, model.contextLength)
  const roomy = Math.floor(Math.min(CACHE_BYTES, limits.tensorBytes / 2) / perToken)
  const wanted = options.cacheTokens ?? defaultCacheTokens(wantedContext, maxBatch, roomy)
  const weights = weightBytes(device, tensors)
  const host = tensors.beside ? hostBytes(tensors.beside.table) : 0
  const slots = stateSlots(kept, maxBatch)
  const states = slots * 4 * sum(kept.states)
  const work = workBytes(model, device, { rows, maxBatch, context: wantedContext })
  // One page more per sequence: each leaves its last page partly empty.
  const aside = maxBatch * PAGE
  const least = Math.min(wanted, LEAST) + aside
  if (limits.tensorBytes < least * perLayer) {
    throw short(name, `${bytes(least * perLayer)} in one buffer for a layer's cache`, bytes(limits.tensorBytes))
  }
  const total = limits.totalBytes ?? Number.POSITIVE_INFINITY
  const fixed = weights + work + states
  if (total < fixed + least * perToken) {
    const kept = `${bytes(least * perToken)} for the cache${states > 0 ? ` and ${bytes(states)} for states` : ''}`
    const parts = `${bytes(weights)} for weights, ${bytes(work)} for work and ${kept}`
    throw short(name, parts, `${bytes(total)} in all`)
  }
  const inOneBuffer = Math.floor(limits.tensorBytes / perLayer)
  const inAll = Math.floor((total - fixed) / perToken)
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
    slots,
    bytes: { weights, cache, states, work, total: fixed + cache, host },
  }
}

/** Those of a batch, half as many because `StatePool` may need them, and others to go back to as their size lets be. */
function stateSlots({ states }: KeptPlan, maxBatch: number): number {
  const bytes = 4 * sum(states)
  if (bytes === 0) return 0
  const others = Math.min(MOST_STATES, Math.floor(STATE_BYTES / bytes))
  return maxBatch + Math.max(Math.ceil(maxBatch / 2), others)
}

const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0)

/** One whole context, and a little for each further sequence where there is room for it. */
export function defaultCacheTokens(context: number, maxBatch: number, roomy: number): number {
  const further = Math.min(context, FURTHER) * (maxBatch - 1)
  return Math.max(context, Math.min(context + further, roomy))
}

/** With what is added to what it makes. */
export function matrixBytes(device: Device, planned: PlannedMatrix): number {
  const bands = bandForms(planned).map((band) => device.matrixBytes({ ...band, scaleType: planned.scaleType }))
  return sum(bands) + 4 * (planned.bias?.length ?? 0)
}

export function weightBytes(device: Device, { embedding, head, norm, layers, beside }: PlannedTensors): number {
  const matrix = (planned: PlannedMatrix) => matrixBytes(device, planned)
  let all = matrix(embedding) + (head ? matrix(head) : 0) + 4 * norm.length
  if (beside) all += matrix(beside.product) + 4 * beside.norm.length
  for (const { matrices, vectors } of layers) {
    for (const one of Object.values(matrices)) all += matrix(one)
    for (const { length, order } of Object.values(vectors)) all += 4 * (order?.length ?? length)
  }
  return all
}

/** Weights in full precision deserve a cache in full precision. */
function isWide(source: Pick<WeightOutline, 'naming' | 'names' | 'describe'>): boolean {
  // There norms are always in full precision.
  if (source.naming === 'gguf') {
    return source.names.includes('token_embd.weight') && source.describe('token_embd.weight').dtype === 'f32'
  }
  const norms = source.names.filter((name) => /norm\.weight$/.test(name))
  // Some models have a few of them in full precision, whatever the others are in.
  return norms.length > 0 && norms.every((name) => source.describe(name).dtype === 'f32')
}

interface Work {
  readonly rows: number
  readonly maxBatch: number
  readonly context: number
}

/** What a pass writes between its operations, normed rows and a sampler's values among it; all in f32. */
function workBytes(model: ModelPlan, { info }: Device, of: Work): number {
  const { rows, maxBatch, context } = of
  const { hidden, vocabulary, layers, beside } = model
  const { input, between, mixed, inner } = roomOf(model)
  const angles = new Map(
    layers.flatMap((layer) =>
      layer.kind === 'attention' ? [[JSON.stringify(layer.angles), layer.headSize] as const] : [],
    ),
  )
  const perRow = (joinsApart(model) ? 3 : 2) * hidden + sum(input) + sum(between) + 2 * sum(mixed) + sum(inner)
  const perLogits = 2 * hidden + sum(mixed) + vocabulary
  const given = beside ? (2 * rows + maxBatch) * layers.length * beside.size + rows * beside.size : 0
  // The CPU keeps activations beside them in the form in which they are multiplied, and samples row by row.
  const cpu = info.kind === 'cpu'
  const prepared = cpu ? rows * (hidden + sum(mixed) + sum(inner)) + maxBatch * (hidden + sum(mixed)) : 0
  const sampler = (cpu ? 4 : maxBatch) * vocabulary
  return 4 * (rows * perRow + maxBatch * perLogits + given + prepared + sampler + context * sum(angles.values()))
}

/** Columns of the rows that a pass writes on its way through a layer; layers of the same width share them. */
export function roomOf({
  layers,
  hidden,
}: ModelPlan): Readonly<Record<'input' | 'between' | 'mixed' | 'inner', ReadonlySet<number>>> {
  const widths = layers.map((layer) => mixerOf(layer).widths(layer, hidden))
  return {
    input: new Set(widths.map(({ input }) => input)),
    between: new Set(widths.flatMap(({ between = [] }) => between)),
    mixed: new Set(widths.map(({ mixed }) => mixed)),
    inner: new Set(layers.map(({ intermediate }) => intermediate)),
  }
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
