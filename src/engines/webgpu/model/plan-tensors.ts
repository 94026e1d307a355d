/** The tensors of a whole model, layer by layer. */
import type { Naming, WeightOutline } from '../../../repository/source.js'
import type { Architecture } from '../architectures/architecture.js'
import { feedForwardOf } from './blocks/feed-forward/index.js'
import type { LayerTensors } from './blocks/layer-tensors.js'
import { mixerOf } from './blocks/mixers/index.js'
import { Finder } from './find-tensors.js'
import type { Beside, LayerPlan, ModelPlan, Role } from './model-plan.js'
import type { PlannedBeside, PlannedLayer, PlannedMatrix, PlannedTensors } from './planned.js'

/** Throws the name of a tensor that is missing, has another shape than the configuration demands, or has no use. */
export function planTensors(
  outline: WeightOutline,
  architecture: Architecture,
  model: ModelPlan,
  quantize: boolean,
  name = 'This model',
): PlannedTensors {
  const { vocabulary, hidden } = model
  const { naming = 'mlc' } = outline
  const offset = naming === 'huggingface' ? model.normOffset : undefined
  const finder = new Finder(outline, architecture, quantize, name)
  const embedding = finder.matrix('embedding', [vocabulary], hidden)
  const interleaved = architecture.interleaved ?? (naming === 'gguf' && architecture.gguf?.interleaved === true)
  const layers = model.layers.map((layer, i) => planLayer(finder, model, layer, i, { naming, offset, interleaved }))
  const { logitScale: scale } = model
  // Logits grow with what the last norm gives.
  const norm = { ...finder.vector('norm', hidden), ...(offset && { offset }), ...(scale && { scale }) }
  const head = planHead(finder, model)
  const beside = model.beside && planBeside(finder, model, model.beside)
  finder.assertAllUsed()
  return { embedding, layers, norm, ...(head && { head }), ...(beside && { beside }) }
}

function planHead(finder: Finder, { vocabulary, hidden, tied, rowLength }: ModelPlan): PlannedMatrix | undefined {
  const separate = rowLength === undefined && (tied === undefined ? finder.has('head') : !tied)
  if (separate) return finder.matrix('head', [vocabulary], hidden)
  finder.passOver('head')
  if (rowLength === undefined) return undefined
  const bias = finder.bias('rows', [rowLength], 0, true)
  // There are few of them, and each counts.
  return { ...finder.matrix('rows', [rowLength], hidden), quantize: false, ...(bias && { bias }) }
}

function planBeside(finder: Finder, { vocabulary, hidden, layers }: ModelPlan, { size }: Beside): PlannedBeside {
  const wide = layers.length * size
  const apart = finder.isPerLayer('besideTable')
  return {
    tables: apart
      ? layers.map((_, i) => finder.matrix('besideTable', [vocabulary], size, i))
      : [finder.matrix('besideTable', [vocabulary], wide)],
    product: finder.matrix('besideProduct', [wide], hidden),
    norm: finder.vector('besideNorm', size),
  }
}

function planLayer(
  finder: Finder,
  { hidden, beside }: ModelPlan,
  layer: LayerPlan,
  index: number,
  { naming, offset, interleaved }: { naming: Naming; offset: number | undefined; interleaved: boolean },
): PlannedLayer {
  const { feedForward, normsBefore, normsAfter, parallel, scaled } = layer
  // Queries may stand alone, where keys and values are those of another layer, or without values of their own.
  const isBiased = (role: Role) =>
    layer.biased.some((one) => one === (role === 'query' || role === 'queryKey' ? 'qkv' : role))
  const find: LayerTensors = {
    matrix(role, rows, columns) {
      const bias = finder.bias(role, rows, index, isBiased(role))
      return { ...finder.matrix(role, rows, columns, index), ...(bias && { bias }) }
    },
    experts(role, count, rows, columns) {
      const bias = finder.bias(role, rows, index, isBiased(role), count)
      return { ...finder.experts(role, count, rows, columns, index), ...(bias && { bias }) }
    },
    vector: (role, length, shape) => finder.vector(role, length, index, shape),
    naming,
    interleaved,
    has: (role) => finder.has(role, index),
    passOver: (role) => finder.passOver(role, index, isBiased(role)),
    norm: (role, length) => ({ ...finder.vector(role, length, index), ...(offset && { offset }) }),
  }
  const mixer = mixerOf(layer).plan(find, layer, hidden)
  const { matrices, vectors } = feedForwardOf(feedForward).plan(find, feedForward, hidden)
  return {
    matrices: {
      ...mixer.matrices,
      ...matrices,
      ...(beside && {
        besideIn: find.matrix('besideIn', [beside.size], hidden),
        besideOut: find.matrix('besideOut', [hidden], beside.size),
      }),
    },
    vectors: {
      ...mixer.vectors,
      ...vectors,
      ...(normsBefore && { attentionNorm: find.norm('attentionNorm', hidden) }),
      ...(normsBefore && !parallel && { mlpNorm: find.norm('mlpNorm', hidden) }),
      ...(normsAfter && {
        attentionAfter: find.norm('attentionAfter', hidden),
        mlpAfter: find.norm('mlpAfter', hidden),
      }),
      ...(beside && { besideAfter: find.norm('besideAfter', hidden) }),
      ...(scaled && { total: find.vector('total', 1) }),
    },
  }
}
