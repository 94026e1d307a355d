/** What points beside a decoder that writes: the same weights, read both ways. */
import { NOTHINGS, POINTERS, type PointingModel } from '../../contract/index.js'
import type { Device } from '../../device/index.js'
import { PAGE } from '../../device/index.js'
import { sharedKept } from '../decoder-rows.js'
import type { ModelPlan } from '../model-plan.js'
import { layersRoom, matrixBytes } from '../size.js'
import type { TensorLoader } from '../tensors.js'
import { VectorCore } from '../vector-core.js'
import type { PlannedPointing } from './plan-pointing.js'
import { PointingDecoder } from './pointing-decoder.js'
import { BATCH_TOKENS, type PointingWeights } from './pointing-weights.js'

/** Texts of one batch. */
const BATCH_TEXTS = 4
/** Questions of a text. */
const MOST_QUESTIONS = 32

const pagesOf = () => BATCH_TOKENS / PAGE + BATCH_TEXTS

/** Bytes beside those of the decoder. */
export function pointingBytes(
  device: Device,
  { turns, heads, layers, nothings }: PlannedPointing,
  model: ModelPlan,
): number {
  const adapters = layers.flatMap((layer) => Object.values(layer.adapters).flatMap(({ into, out }) => [into, out]))
  const floats = adapters.reduce(
    (sum, { rows, columns }) => sum + rows * columns,
    nothings.length + BATCH_TOKENS * turns.headSize,
  )
  const { input, between, mixed, feedForwards } = layersRoom(model)
  const sum = (widths: Iterable<number>) => [...widths].reduce((all, one) => all + one, 0)
  const wide = sum(input) + sum(between) + 2 * sum(mixed) + sum(feedForwards.map(({ written }) => written))
  const prepared = device.info.kind === 'cpu' ? sum(feedForwards.map(({ prepared }) => prepared)) + model.hidden : 0
  const perRow = 3 * model.hidden + wide + prepared + heads.rows + adapters[0]!.rows
  const perQuestion = model.hidden + NOTHINGS + model.vocabulary
  const cached = sharedKept(model).caches.reduce((all, { heads, headSize }) => all + 2 * heads * headSize, 0)
  const rows = BATCH_TOKENS * perRow + BATCH_TEXTS * MOST_QUESTIONS * perQuestion + pagesOf() * PAGE * cached
  return matrixBytes(device, heads) + 4 * (floats + 2 * model.hidden * (layers.length + 1) + rows)
}

export function pointingOf(
  device: Device,
  loader: TensorLoader,
  own: ModelPlan,
  weights: PointingWeights,
  fingerprint: string,
): PointingModel {
  const model = {
    ...own,
    layers: own.layers.map((layer) => (layer.kind === 'attention' ? { ...layer, causal: false } : layer)),
  }
  const plan = sharedKept(model)
  const caches = plan.caches.map((shape) => {
    const cache = device.cache({ ...shape, pages: pagesOf(), type: 'f32' })
    loader.made.push(cache)
    return cache
  })
  const rows = new PointingDecoder(
    device,
    { model, weights, kept: { plan, caches } },
    BATCH_TOKENS,
    BATCH_TEXTS * MOST_QUESTIONS,
  )
  loader.made.push(rows)
  const core = new VectorCore({
    device,
    encoder: rows,
    ...{ contextLength: BATCH_TOKENS, batchTokens: BATCH_TOKENS, batchTexts: BATCH_TEXTS, size: 1 },
    placeOf: (_, at) => at,
    fingerprint,
    // It is freed with the decoder.
    release: () => {},
  })
  return {
    model: core,
    headSize: weights.heads.rows / POINTERS.length,
    vocabulary: model.vocabulary,
    logitScales: weights.logitScales,
    mostQuestions: MOST_QUESTIONS,
  }
}
