/** The tensors of a whole model, layer by layer. */

import type { Architecture } from './architectures/architecture.js'
import { type NormRole, normsOf } from './blocks/arrangement.js'
import { feedForwardOf } from './blocks/feed-forward/index.js'
import { mixerOf } from './blocks/mixers/index.js'
import { planLayerInput, planPerLayer } from './blocks/per-layer-embedding.js'
import type { Naming, WeightOutline } from './files/source.js'
import { Finder } from './find-tensors.js'
import type { LayerPlan, ModelPlan, Role } from './model-plan.js'
import type { LayerTensors, PlannedDraftHead, PlannedLayer, PlannedMatrix, PlannedTensors } from './planned.js'

/** `drafts`: a head that guesses is found too, where there is one. Throws the name of a tensor that is missing, has another shape than the configuration demands, or has no use. */
export function planTensors(
  outline: WeightOutline,
  architecture: Architecture,
  model: ModelPlan,
  quantize: boolean,
  name = 'This model',
  drafts = false,
): PlannedTensors {
  const { vocabulary, hidden } = model
  const { naming = 'mlc' } = outline
  const offset = naming === 'huggingface' ? model.normOffset : undefined
  const finder = new Finder(outline, architecture, quantize, name)
  const embedding = finder.matrix('embedding', [vocabulary], hidden)
  const interleaved = architecture.interleaved ?? (naming === 'gguf' && architecture.gguf?.interleaved === true)
  const forms = { naming, offset, interleaved }
  const layers = model.layers.map((layer, i) => planLayer(finder, model, layer, i, forms))
  const { logitScale: scale } = model
  // Logits grow with what the last norm gives.
  const norm = { ...finder.vector('norm', hidden), ...(offset && { offset }), ...(scale && { scale }) }
  const bias = model.normBias && finder.bias('norm', [hidden], 0, true)
  const normBias = bias && { ...bias, ...(scale && { scale }) }
  const head = planHead(finder, model)
  const perLayer = planPerLayer(finder, model)
  const draftLayer = drafts ? architecture.draftLayer?.[naming] : undefined
  const draftHeadUnused = draftLayer && whyUnused(finder, model)
  const draftHead = draftLayer && !draftHeadUnused ? planDraftHead(finder, model, draftLayer, forms) : undefined
  if (!draftHead && model.draftHead && naming === 'gguf') finder.passOverLayers(model.layers.length)
  finder.assertAllUsed()
  return {
    ...{ embedding, layers, norm },
    ...(normBias && { normBias }),
    ...(head && { head }),
    ...(perLayer && { perLayer }),
    ...(draftHead && { draftHead }),
    ...(draftHeadUnused !== undefined && { draftHeadUnused }),
  }
}

function planHead(finder: Finder, model: ModelPlan): PlannedMatrix | undefined {
  const { vocabulary, hidden, tied, rowLength, headBias } = model
  const separate = rowLength === undefined && (tied === undefined ? finder.has('head') : !tied)
  if (separate) {
    const bias = headBias && finder.bias('head', [vocabulary], 0, true)
    return { ...finder.matrix('head', [vocabulary], hidden), ...(bias && { bias }) }
  }
  finder.passOver('head')
  if (rowLength === undefined) return undefined
  const bias = finder.bias('rows', [rowLength], 0, true)
  // There are few of them, and each counts.
  return { ...finder.matrix('rows', [rowLength], hidden), quantize: false, ...(bias && { bias }) }
}

interface Forms {
  readonly naming: Naming
  readonly offset: number | undefined
  readonly interleaved: boolean
}

/** Of a head that guesses: what more there is to it than is computed here. Undefined: nothing, or there is no head. */
function whyUnused(finder: Finder, { layers, draftHead }: ModelPlan): string | undefined {
  const at = layers.length
  if (!draftHead || !finder.has('draftIn', at)) return undefined
  if (draftHead.layers !== 1) return `it has ${draftHead.layers} layers, and only one alone is read`
  return finder.hasSome('draftTables', at) ? 'it has tables of its own, which are not read' : undefined
}

/** Undefined: it has none. */
function planDraftHead(finder: Finder, model: ModelPlan, name: string, forms: Forms): PlannedDraftHead | undefined {
  const { hidden, layers, draftHead } = model
  const at = layers.length
  if (!draftHead || !finder.has('draftIn', at)) return undefined
  const norm = (role: Role) => ({ ...finder.vector(role, hidden, at), ...(forms.offset && { offset: forms.offset }) })
  return {
    tokenNorm: norm('draftTokenNorm'),
    rowNorm: norm('draftRowNorm'),
    input: finder.matrix('draftIn', [hidden], 2 * hidden, at),
    layer: finder.inLayer(name, () => planLayer(finder, model, draftHead.layer, at, forms)),
    norm: norm('draftNorm'),
  }
}

function planLayer(
  finder: Finder,
  model: ModelPlan,
  layer: LayerPlan,
  index: number,
  { naming, offset, interleaved }: Forms,
): PlannedLayer {
  const { hidden } = model
  const { feedForward, scaled, curve } = layer
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
  const input = planLayerInput(find, model)
  const norms = normsOf(layer)
  const normBias = (role: NormRole) => [`${role}Bias`, finder.bias(role, [hidden], index, true)!] as const
  return {
    matrices: { ...mixer.matrices, ...matrices, ...input.matrices },
    vectors: {
      ...mixer.vectors,
      ...vectors,
      ...Object.fromEntries(norms.map((role) => [role, find.norm(role, hidden)])),
      ...(model.normBias && Object.fromEntries(norms.map(normBias))),
      ...input.vectors,
      ...(scaled && { total: find.vector('total', 1) }),
      ...(curve && { curve: curve === 'stored' ? find.vector('curve', 1) : { parts: [], length: 4, values: curve } }),
    },
  }
}
