/** A repository of a model that makes vectors, on a device and ready to make them. */

import { type ClassForm, type DecisionForm, V1Error } from '../../contract/index.js'
import { type Device, embed, type KeyValueCache, type Matrix, PAGE } from '../../device/index.js'
import { cacheTypeCalled } from '../../platform/index.js'
import { assertLayers } from '../assert-layers.js'
import { assertPlain } from '../assert-plain.js'
import type { WeightOutline, WeightSource } from '../files/source.js'
import type { LoadOptions } from '../load.js'
import type { PlanOptions } from '../plan-model.js'
import { refuse } from '../refuse.js'
import { TensorLoader } from '../tensors.js'
import { type RowEncoder, VectorCore } from '../vector-core.js'
import { loadWeights } from '../weights.js'
import { isBert } from './bert.js'
import { DecisionEncoder, loadDecision, type Trunk } from './decision-encoder.js'
import type { PlannedDecision } from './decision-plan.js'
import { decoderBody } from './decoder-body.js'
import { BertEncoder } from './encoder.js'
import { bertBody, type EncoderBody } from './encoder-body.js'
import { loadEncoder, loadHead } from './encoder-weights.js'
import { JointHead, loadJoint } from './joint-head.js'
import { isModernBert } from './modern-bert.js'
import { modernBody } from './modern-body.js'
import { loadModern, ModernEncoder } from './modern-encoder.js'
import type { PlannedNorm } from './plan-encoder.js'
import { DecoderTrunk, JointDecoder, PooledDecoder } from './pooled-decoder.js'
import { classFormOf, defaultPrompt, purposeOf } from './read-vectors.js'
import { VectorHead } from './vector-head.js'

/** Everything about such a model on a device that is known from the heads of its files. */
export interface EncoderLoadPlan {
  readonly task: 'embed' | 'rank' | 'classify' | 'decide'
  /** Stands before every text. */
  readonly prompt: string
  /** Pairs are put to it as a question, and `words` of `EncoderOptions` are its answers. */
  readonly judges: boolean
  /** The classes of its head, where it has one. */
  readonly classes?: ClassForm
  /** How it is asked, where it decides. */
  readonly decision?: DecisionForm
  readonly body: EncoderBody
  readonly size: EncoderSize
}

export interface EncoderSize {
  readonly contextLength: number
  readonly batchTokens: number
  readonly batchTexts: number
  readonly bytes: { readonly weights: number; readonly work: number; readonly total: number }
}

/** Tokens of one batch, where no text alone has more; and texts, of which few may have states. */
const BATCH_TOKENS = 512
const BATCH_TEXTS = 64
const BATCH_STATES = 4
/** Tokens of a text, unless more are asked for: all of them are computed at once. */
const CONTEXT = 2048

/** Whether vectors or scores are made with it, and no text. */
export const makesVectors = (outline: WeightOutline, name: string): boolean =>
  isBert(outline) || isModernBert(outline) || (outline.rowLength === undefined && purposeOf(outline, name) !== 'chat')

/** Files that a folder of BERT's alone lacks. */
const SENTENCE_FILES = "sentence-transformers' modules.json and 1_Pooling/config.json, beside config.json"

export interface EncoderOptions extends LoadOptions {
  /** Tokens of the words yes and no, for a model that judges. */
  readonly words?: readonly [number, number]
}

/** Throws what is unknown, missing, malformed or short, by name. */
export function planEncoderLoad(outline: WeightOutline, device: Device, options: PlanOptions = {}): EncoderLoadPlan {
  const name = options.name ?? 'This model'
  assertPlain(outline, name)
  assertLayers(outline, name)
  const task = purposeOf(outline, name)
  if (task === 'chat') {
    const what = 'an encoder that does not say how its rows become a vector (modules.json)'
    throw refuse(name, what, `Missing: ${SENTENCE_FILES}.`)
  }
  if (options.cacheType !== undefined) {
    throw refuse(name, `${cacheTypeCalled(options.cacheType)} of a model that keeps none`, 'Leave cacheType away.')
  }
  const bodyOf = isBert(outline) ? bertBody : isModernBert(outline) ? modernBody : decoderBody
  const body = bodyOf(outline, options.quantize !== undefined, name)
  const prompt = outline.sentence ? defaultPrompt(outline.sentence, name) : ''
  const { vectors, positions } = body
  const wanted = Math.min(options.contextLength ?? Math.min(vectors.most, CONTEXT), positions, device.limits.rows)
  const asks = body.kind === 'decoder' && body.judges
  const decision = decisionOf(body)
  const tells = (task === 'rank' || task === 'classify') && !asks
  const classes = tells ? { classes: classFormOf(outline.chatConfig) } : {}
  const own = { task, prompt, judges: asks, ...classes, ...(decision && { decision }) }
  return { ...own, body, size: sizeOf(device, body, wanted, name) }
}

function decisionOf(body: EncoderBody): DecisionForm | undefined {
  if (body.kind === 'modern') return body.decision
  return body.kind === 'decoder' ? (body.joint ?? body.decision)?.plan : undefined
}

function sizeOf(device: Device, body: EncoderBody, contextLength: number, name: string): EncoderSize {
  const { limits } = device
  const wide = body.caches.find(({ headSize }) => headSize > limits.headSize)
  if (wide) throw refuse(name, `heads of ${wide.headSize} values on this device`)
  const batchTokens = Math.max(contextLength, BATCH_TOKENS)
  const { weights, perRow, perText, perPosition, fixed = 0 } = body.need(device)
  const cached = body.caches.reduce((sum, { layers = 1, heads, headSize }) => sum + 2 * layers * heads * headSize, 0)
  const batchTexts = body.kind === 'decoder' && body.kept.states.length > 0 ? BATCH_STATES : BATCH_TEXTS
  const rows = batchTokens * perRow + contextLength * perPosition + batchTexts * perText + fixed
  const work = 4 * (rows + pagesOf(batchTokens, batchTexts) * PAGE * cached)
  const total = weights + work
  if (total > (limits.totalBytes ?? Number.POSITIVE_INFINITY)) {
    const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`
    const message = `${name} does not fit this device: it needs ${mebibytes(total)}, and the device allows ${mebibytes(limits.totalBytes!)} in all.`
    throw new V1Error(503, message, { code: 'device_too_small', headers: { 'x-should-retry': 'false' } })
  }
  return { contextLength, batchTokens, batchTexts, bytes: { weights, work, total } }
}

/** Each text leaves its last page partly empty. */
const pagesOf = (tokens: number, texts: number) => Math.ceil(tokens / PAGE) + texts

/** By a plan that `planEncoderLoad` has made for this device. Nothing stays allocated where it fails. */
export async function loadEncoderPlanned(
  device: Device,
  source: WeightSource,
  { body, size }: EncoderLoadPlan,
  options: EncoderOptions = {},
): Promise<VectorCore> {
  const { contextLength, batchTokens, batchTexts } = size
  const loader = new TensorLoader(device, source, options.signal)
  const free = () => {
    for (const resource of loader.made) resource.destroy()
  }
  try {
    device.reserve?.(size.bytes.total)
    const caches = body.caches.map(({ layers = 1, heads, headSize }) => {
      const cache = device.cache({ layers, pages: pagesOf(batchTokens, batchTexts), heads, headSize, type: 'f32' })
      loader.made.push(cache)
      return cache
    })
    const encoder = await rowEncoder(device, loader, { body, size }, caches, options)
    await loader.close()
    loader.made.push(encoder)
    // A GPU says late that it had no room; what runs later must not find that out.
    await device.idle()
    return new VectorCore({
      device,
      encoder,
      ...{ contextLength, batchTokens, batchTexts, size: body.vectors.size },
      // Which of two texts, each with its positions; or which kind of question.
      placeOf: (type, at) => (body.kind === 'bert' ? type * contextLength + at : type),
      fingerprint: `fp_${source.digest.slice(0, 12)}`,
      release: () => {
        free()
        options.onReleased?.()
      },
    })
  } catch (error) {
    await loader.close()
    free()
    throw error
  }
}

async function rowEncoder(
  device: Device,
  loader: TensorLoader,
  { body, size }: Pick<EncoderLoadPlan, 'body' | 'size'>,
  caches: readonly KeyValueCache[],
  { onProgress, words }: EncoderOptions,
): Promise<RowEncoder & { destroy(): void }> {
  const { vectors } = body
  const head = async (width: number) =>
    new VectorHead(device, vectors, await loadHead(loader, body.dense, vectors), width, size.batchTexts)
  if (body.kind === 'bert') {
    const { plan } = body
    const weights = await loadEncoder(loader, plan, body.tensors, size.contextLength, onProgress)
    const [cache] = caches
    return new BertEncoder(device, { plan, weights, cache: cache!, head: await head(plan.hidden) }, size.batchTokens)
  }
  if (body.kind === 'modern') {
    const { plan } = body
    const weights = await loadModern(loader, plan, body.tensors, size.contextLength, onProgress)
    const cache = caches[0]!
    const { decision } = body.tensors
    if (!decision) {
      return new ModernEncoder(device, { plan, weights, cache, head: await head(plan.hidden) }, size.batchTokens)
    }
    const trunk = () => new ModernEncoder(device, { plan, weights, cache }, size.batchTokens)
    return decisionEncoder(
      device,
      loader,
      { ...plan, trunk, cache, planned: decision, pooled: body.tensors.pooled },
      body,
      size,
    )
  }
  const { model } = body
  const weights = await loadWeights(loader, model, body.tensors, size.contextLength, onProgress)
  const { states: sizes } = body.kept
  const states = sizes.length > 0 ? device.states({ slots: size.batchTexts, sizes }) : undefined
  if (states) loader.made.push(states)
  const kept = { plan: body.kept, caches, ...(states && { states }) }
  if (body.joint) {
    const weightsOfHead = await loadJoint(loader, body.joint.planned, size.contextLength)
    const { hidden } = model
    const parts = { weights: weightsOfHead, hidden, cache: caches.at(-1)!, embedding: weights.embedding }
    const head = new JointHead(device, parts, size.batchTokens)
    return new JointDecoder(device, { model, weights, kept, head }, size.batchTokens)
  }
  if (body.decision) {
    const trunk = () => new DecoderTrunk(device, { model, weights, kept }, size.batchTokens)
    const cache = caches.at(-1)!
    const { hidden } = model
    return decisionEncoder(
      device,
      loader,
      { trunk, cache, hidden, heads: cache.shape.heads, ...body.decision },
      body,
      size,
    )
  }
  if (!body.judges) {
    return new PooledDecoder(device, { model, weights, kept, head: await head(model.hidden) }, size.batchTokens)
  }
  const verdict = {
    dense: [{ matrix: loader.table(await difference(device, weights.head.matrix, words!), model.hidden) }],
  }
  const scores = new VectorHead(device, vectors, verdict, model.hidden, size.batchTexts)
  return new PooledDecoder(device, { model, weights, kept, head: scores }, size.batchTokens)
}

interface HeadParts {
  readonly trunk: () => Trunk
  readonly cache: KeyValueCache
  readonly hidden: number
  readonly heads: number
  readonly planned: PlannedDecision
  readonly pooled?: PlannedNorm | undefined
}

async function decisionEncoder(
  device: Device,
  loader: TensorLoader,
  { trunk, cache, hidden, heads, planned, pooled }: HeadParts,
  { vectors, dense }: Pick<EncoderBody, 'vectors' | 'dense'>,
  { contextLength, batchTokens }: EncoderSize,
): Promise<DecisionEncoder> {
  const weights = await loadDecision(loader, planned, contextLength, hidden / heads)
  const scores = await loadHead(loader, dense, vectors, pooled)
  const head = new VectorHead(device, vectors, scores, hidden, batchTokens)
  return new DecisionEncoder(device, { encoder: trunk(), weights, head, heads, hidden, cache }, batchTokens)
}

/** Of two rows of a matrix on the device, in whatever form it is kept there. */
async function difference(device: Device, matrix: Matrix, [one, other]: readonly number[]): Promise<Float32Array> {
  const rows = device.activations(2, matrix.columns)
  const pass = device.begin({ spans: [{ tokens: Int32Array.of(one!, other!), position: 0, pages: new Int32Array(1) }] })
  pass.run(embed, matrix, rows)
  const read = pass.read(rows, 2)
  await pass.submit()
  const values = await read
  rows.destroy()
  return values.subarray(0, matrix.columns).map((value, i) => value - values[matrix.columns + i]!)
}
