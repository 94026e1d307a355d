/** What a model will take on a device, and what of it fits, known before anything is downloaded or uploaded. */

import type { Device } from '../device/index.js'
import { type CacheType, type CacheTypeChoice, cacheTypeCalled, keepsHeads } from '../platform/index.js'
import { addsApart, normsApart } from './blocks/arrangement.js'
import { feedForwardOf } from './blocks/feed-forward/index.js'
import { mixerOf } from './blocks/mixers/index.js'
import { perLayerValues } from './blocks/per-layer-embedding.js'
import { planCaches } from './cache-size.js'
import type { WeightOutline } from './files/source.js'
import { hostBytes } from './host-rows.js'
import { type KeptPlan, planKept } from './kept.js'
import type { FeedForwardPlan, LayerPlan, ModelPlan } from './model-plan.js'
import { bandForms, type PlannedMatrix, type PlannedTensors } from './planned.js'
import { refuse } from './refuse.js'
import { bytes, short } from './short.js'

export interface SizeOptions {
  /** The model's name, for messages. @default 'The model' */
  readonly name?: string
  /** The longest sequence. @default the model's, at most 8192 */
  readonly contextLength?: number
  /** Tokens that the cache holds over all sequences. @default see `defaultCacheTokens` of `cache-size.ts` */
  readonly cacheTokens?: number
  /** Bytes of the device that another model takes beside it. @default 0 */
  readonly beside?: number
  /** How keys and values are kept. @default f16, and f32 beside weights in full precision */
  readonly cacheType?: Exclude<CacheTypeChoice, 'auto'>
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
  /** Rows of a pass that go through the head. */
  readonly wanted: number
  readonly cacheType: CacheType
  readonly pages: number
  /** Of the window, and how many there are of layers that keep no more; 0: none does. */
  readonly window: number
  readonly windowPages: number
  /** Slots for states: one for each sequence of a batch, the others for what is kept to go back to. */
  readonly slots: number
  readonly bytes: {
    readonly weights: number
    readonly cache: number
    /** Of layers that keep no more than a window. */
    readonly windows: number
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
/** What the states that are kept to go back to may take, and the most of them. */
const STATE_BYTES = 128 * 1048576
const MOST_STATES = 64

/** Tokens of a prompt in one pass: so few that what is written beside it does not wait long. */
function chunkOf({ info, limits }: Device): number {
  if (info.kind === 'cpu') return 64
  return limits.fewRows === undefined ? 256 : 512
}

/** `more`: bytes of work that is not the decoder's. Throws an error that says what is short. */
export function sizeOf(
  device: Device,
  model: ModelPlan,
  tensors: PlannedTensors,
  outline: WeightOutline,
  options: SizeOptions = {},
  more = 0,
): ModelSize {
  const { limits } = device
  const name = options.name ?? 'The model'
  const kept = planKept(model, false)
  const headSize = Math.max(...kept.caches.map((cache) => cache.headSize))
  if (headSize > limits.headSize) throw short(name, `heads of ${headSize} values`, `${limits.headSize}`)
  const maxBatch = options.maxBatch ?? 8
  const maxChunk = Math.min(options.maxChunk ?? chunkOf(device), limits.rows - maxBatch)
  const rows = maxChunk + maxBatch
  const cacheType = options.cacheType ?? (isWide(outline) ? 'f32' : 'f16')
  const odd = kept.caches.find((cache) => !keepsHeads(cacheType, cache.headSize))
  if (odd && options.cacheType) {
    const feature = `${cacheTypeCalled(options.cacheType)} for heads of ${odd.headSize} values, no multiple of 32,`
    throw refuse(name, feature, 'Leave cacheType away.')
  }
  const context = Math.min(options.contextLength ?? CONTEXT, model.contextLength)
  const weights = weightBytes(device, tensors)
  const host = sum((tensors.perLayer?.tables ?? []).map(hostBytes))
  const slots = stateSlots(kept, maxBatch)
  const states = slots * 4 * sum(kept.states)
  // Rows of a head of its own are short, and all of a question may be asked for at once.
  const wanted = model.rowLength === undefined ? maxBatch : rows
  const work = workBytes(model, device, { rows, maxBatch, wanted, context }) + more
  const ofStates = states > 0 ? `, ${bytes(states)} for states` : ''
  const parts = `${bytes(weights)} for weights, ${bytes(work)} for work${ofStates}`
  const fixed = weights + work + states
  const beside = options.beside ?? 0
  const ofOthers = beside > 0 ? `, ${bytes(beside)} for its draft model` : ''
  const other = { bytes: fixed + beside, parts: `${parts}${ofOthers}` }
  const plan = planCaches(model, {
    ...{ name, limits, type: cacheType, context, tokens: options.cacheTokens, maxBatch, rows, other },
  })
  return {
    contextLength: Math.min(context, plan.tokens),
    maxBatch,
    maxChunk,
    rows,
    wanted,
    cacheType,
    pages: plan.pages,
    window: plan.window,
    windowPages: plan.windowPages,
    slots,
    bytes: {
      ...{ weights, cache: plan.bytes, windows: plan.windowBytes, states, work, host },
      total: fixed + plan.bytes + plan.windowBytes,
    },
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

/** With what is added to what it makes. */
export function matrixBytes(device: Device, planned: PlannedMatrix): number {
  const bands = bandForms(planned).map((band) => device.matrixBytes({ ...band, scaleType: planned.scaleType }))
  return sum(bands) + 4 * (planned.bias?.length ?? 0)
}

export function weightBytes(device: Device, tensors: PlannedTensors): number {
  const { embedding, head, norm, normBias, layers, perLayer, draftHead } = tensors
  const matrix = (planned: PlannedMatrix) => matrixBytes(device, planned)
  let all = matrix(embedding) + (head ? matrix(head) : 0) + 4 * (norm.length + (normBias?.length ?? 0))
  if (perLayer) all += matrix(perLayer.product) + 4 * perLayer.norm.length
  if (draftHead) all += matrix(draftHead.input) + 3 * 4 * norm.length
  for (const { matrices, vectors } of draftHead ? [...layers, draftHead.layer] : layers) {
    for (const one of Object.values(matrices)) all += matrix(one)
    for (const { length, order } of Object.values(vectors)) all += 4 * (order?.length ?? length)
  }
  return all
}

/** Weights in full precision deserve a cache in full precision. */
export function isWide(source: Pick<WeightOutline, 'naming' | 'names' | 'describe'>): boolean {
  // There norms are always in full precision.
  if (source.naming === 'gguf') {
    return source.names.includes('token_embd.weight') && source.describe('token_embd.weight').dtype === 'f32'
  }
  const norms = source.names.filter((name) => /(norm|\.ln)\.weight$/.test(name))
  // Some models have a few of them in full precision, whatever the others are in.
  return norms.length > 0 && norms.every((name) => source.describe(name).dtype === 'f32')
}

interface Work {
  readonly rows: number
  readonly maxBatch: number
  readonly wanted: number
  readonly context: number
}

/** What a pass writes between its operations, normed rows and a sampler's values among it; all in f32. */
function workBytes(model: ModelPlan, { info }: Device, of: Work): number {
  const { rows, maxBatch, wanted, context } = of
  const { hidden, vocabulary, rowLength = vocabulary, border = Number.POSITIVE_INFINITY } = model
  const layers = allLayers(model)
  // Those of short texts stand beside those of long ones.
  const positions = context + (context > border ? border : 0)
  const { input, between, mixed, feedForwards } = layersRoom(model)
  const inner = feedForwards.map(({ written }) => written)
  const within = sum(feedForwards.map(({ prepared }) => prepared))
  const angles = new Map(
    layers.flatMap((layer) =>
      layer.kind === 'attention' ? [[JSON.stringify(layer.angles), layer.headSize] as const] : [],
    ),
  )
  const apart = (addsApart(model) ? 1 : 0) + (normsApart(model) ? 1 : 0)
  const ofHead = model.draftHead ? 5 : 0
  const perRow = (2 + apart + ofHead) * hidden + sum(input) + sum(between) + 2 * sum(mixed) + sum(inner)
  const perLogits = (normsApart(model) ? 3 : 2) * hidden + sum(mixed) + rowLength
  const given = perLayerValues(model, rows, wanted)
  // The CPU keeps activations beside them in the form in which they are multiplied, and samples row by row.
  const cpu = info.kind === 'cpu'
  const prepared = cpu ? rows * (hidden + sum(mixed) + within) + wanted * (hidden + sum(mixed)) : 0
  const sampler = (cpu ? 4 : maxBatch) * vocabulary
  return 4 * (rows * perRow + wanted * perLogits + given + prepared + sampler + positions * sum(angles.values()))
}

interface RoomOfLayers extends Readonly<Record<'input' | 'between' | 'mixed', ReadonlySet<number>>> {
  readonly feedForwards: readonly ReturnType<ReturnType<typeof feedForwardOf>['widths']>[]
}

/** Columns of the rows that a pass writes on its way through a layer; layers of the same width share them. */
export function layersRoom(model: ModelPlan): RoomOfLayers {
  const { hidden } = model
  const layers = allLayers(model)
  const widths = layers.map((layer) => mixerOf(layer).widths(layer, hidden))
  return {
    input: new Set(widths.map(({ input }) => input)),
    between: new Set(widths.flatMap(({ between = [] }) => between)),
    mixed: new Set(widths.map(({ mixed }) => mixed)),
    feedForwards: feedForwardsOf(layers).map((plan) => feedForwardOf(plan).widths(plan, hidden)),
  }
}

/** With that of a head that guesses. */
export const allLayers = ({ layers, draftHead }: ModelPlan): readonly LayerPlan[] =>
  draftHead ? [...layers, draftHead.layer] : layers

/** Those that differ, of which each has its room. */
function feedForwardsOf(layers: ModelPlan['layers']): FeedForwardPlan[] {
  return [...new Map(layers.map(({ feedForward }) => [JSON.stringify(feedForward), feedForward])).values()]
}
