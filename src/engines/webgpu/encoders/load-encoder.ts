/** An encoder's repository on a device, ready to make vectors. */
import { V1Error } from '../../../errors.js'
import type { WeightOutline, WeightSource } from '../../../repository/source.js'
import { type Device, PAGE } from '../contract.js'
import type { LoadOptions } from '../model/load.js'
import type { PlanOptions } from '../model/plan-model.js'
import type { PlannedMatrix } from '../model/planned.js'
import { refuse } from '../model/refuse.js'
import { TensorLoader } from '../model/tensors.js'
import { readEncoder, readScores } from './bert.js'
import { BertEncoder } from './encoder.js'
import { loadEncoder } from './encoder-weights.js'
import { type PlannedEncoder, planEncoder } from './plan-encoder.js'
import { defaultPrompt, purposeOf, readVectors } from './read-vectors.js'
import { VectorCore } from './vector-core.js'
import type { EncoderPlan, VectorPlan } from './vector-plan.js'

/** Everything about an encoder on a device that is known from the heads of its files. */
export interface EncoderLoadPlan {
  readonly task: 'embed' | 'rank'
  /** Stands before every text. */
  readonly prompt: string
  readonly encoder: EncoderPlan
  readonly vectors: VectorPlan
  readonly tensors: PlannedEncoder
  readonly size: EncoderSize
}

export interface EncoderSize {
  readonly contextLength: number
  readonly batchTokens: number
  readonly batchTexts: number
  readonly bytes: { readonly weights: number; readonly work: number; readonly total: number }
}

/** Tokens of one batch, where no text alone has more; and texts. */
const BATCH_TOKENS = 512
const BATCH_TEXTS = 64

/** Throws what is unknown, missing, malformed or short, by name. */
export function planEncoderLoad(outline: WeightOutline, device: Device, options: PlanOptions = {}): EncoderLoadPlan {
  const name = options.name ?? 'This model'
  const encoder = readEncoder(outline.chatConfig, name)
  const task = purposeOf(outline)
  const positions = encoder.positions - encoder.firstPosition
  if (task === 'chat') throw refuse(name, 'an encoder that does not say how its rows become a vector (modules.json)')
  const vectors =
    task === 'embed'
      ? readVectors(outline.sentence!, name, encoder.hidden, positions)
      : readScores(outline.chatConfig, encoder, name)
  const tensors = planEncoder(outline, encoder, vectors, options.quantize !== undefined, name)
  const wanted = Math.min(options.contextLength ?? vectors.most, positions)
  const prompt = outline.sentence ? defaultPrompt(outline.sentence, name) : ''
  return { task, prompt, encoder, vectors, tensors, size: sizeOf(device, encoder, vectors, tensors, wanted, name) }
}

function sizeOf(
  device: Device,
  { hidden, intermediate, layers, heads, types }: EncoderPlan,
  { dense }: VectorPlan,
  tensors: PlannedEncoder,
  wanted: number,
  name: string,
): EncoderSize {
  const { limits, info } = device
  if (hidden / heads > limits.headSize) throw refuse(name, `heads of ${hidden / heads} values on this device`)
  const contextLength = Math.min(wanted, limits.rows)
  const batchTokens = Math.max(contextLength, BATCH_TOKENS)
  const matrix = ({ rows, columns, stored, scaleType, quantize, bias }: PlannedMatrix) => {
    const format = quantize ? 'q4' : stored
    return device.matrixBytes({ format, rows, columns, scaleType }) + 4 * (bias?.length ?? 0)
  }
  const places = { format: 'f32', rows: types * contextLength, columns: hidden, scaleType: 'f16' } as const
  const all = [tensors.words, ...tensors.dense]
  for (const { qkv, output, inner, down } of tensors.layers) all.push(qkv, output, inner, down)
  const weights =
    all.reduce((sum, one) => sum + matrix(one), 0) + device.matrixBytes(places) + 4 * hidden * (2 + 4 * layers)
  const pages = Math.ceil(batchTokens / PAGE) + BATCH_TEXTS
  const pooled = dense.reduce((sum, { rows }) => sum + rows, hidden)
  // A processor keeps rows beside them in the form in which they are multiplied.
  const prepared = info.kind === 'cpu' ? batchTokens * (2 * hidden + intermediate) : 0
  const work =
    4 * (batchTokens * (5 * hidden + intermediate) + 2 * pages * PAGE * hidden + BATCH_TEXTS * pooled + prepared)
  const total = weights + work
  if (total > (limits.totalBytes ?? Number.POSITIVE_INFINITY)) {
    const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`
    const message = `${name} does not fit this device: it needs ${mebibytes(total)}, and the device allows ${mebibytes(limits.totalBytes!)} in all.`
    throw new V1Error(503, message, { code: 'device_too_small', headers: { 'x-should-retry': 'false' } })
  }
  return { contextLength, batchTokens, batchTexts: BATCH_TEXTS, bytes: { weights, work, total } }
}

/** By a plan that `planEncoderLoad` has made for this device. Nothing stays allocated where it fails. */
export async function loadEncoderPlanned(
  device: Device,
  source: WeightSource,
  { encoder: plan, vectors, tensors, size }: EncoderLoadPlan,
  options: LoadOptions = {},
): Promise<VectorCore> {
  const { contextLength, batchTokens, batchTexts } = size
  const loader = new TensorLoader(device, source, options.signal)
  const free = () => {
    for (const resource of loader.made) resource.destroy()
  }
  try {
    const weights = await loadEncoder(loader, plan, tensors, contextLength, options.onProgress)
    const { heads, hidden } = plan
    const pages = Math.ceil(batchTokens / PAGE) + batchTexts
    const cache = device.cache({ layers: 1, pages, heads, headSize: hidden / heads, type: 'f32' })
    loader.made.push(cache)
    const encoder = new BertEncoder(device, { plan, vectors, weights, cache }, batchTokens, batchTexts)
    loader.made.push(encoder)
    // A GPU says late that it had no room; what runs later must not find that out.
    await device.idle()
    return new VectorCore({
      device,
      encoder,
      ...{ contextLength, batchTokens, batchTexts, size: vectors.size, placesOfText: contextLength },
      fingerprint: `fp_${source.digest.slice(0, 12)}`,
      release: () => {
        free()
        options.onReleased?.()
      },
    })
  } catch (error) {
    free()
    throw error
  }
}
