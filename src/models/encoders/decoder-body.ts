/** A decoder as a model that makes vectors: Qwen3-Embedding, EmbeddingGemma and their like. */

import { readModel } from '../architectures/index.js'
import { addsApart } from '../blocks/arrangement.js'
import { mixerOf } from '../blocks/mixers/index.js'
import { sharedKept } from '../decoder-rows.js'
import type { WeightOutline } from '../files/source.js'
import type { LayerPlan, ModelPlan } from '../model-plan.js'
import { planTensors } from '../plan-tensors.js'
import { refuse } from '../refuse.js'
import { layersRoom, matrixBytes, weightBytes } from '../size.js'
import { ENCODERS } from './bert.js'
import { assertHeads, planDecisionApart, readDecision, scorer } from './decision-plan.js'
import { type EncoderBody, numbersOf } from './encoder-body.js'
import { cacheOfJoint, needOfJoint, planJoint, readJoint, scoredTogether } from './joint-plan.js'
import { planDense } from './plan-encoder.js'
import { judges, readVectors, scoreOf } from './read-vectors.js'

export function decoderBody(outline: WeightOutline, quantize: boolean, name: string): EncoderBody {
  const { architecture, model: read } = readModel(outline.chatConfig, name, outline.naming, [
    ...ENCODERS.keys(),
    'modernbert',
  ])
  const asksWords = !outline.sentence && judges(outline.chatConfig, name)
  // Else nothing asks its head for a word.
  const model: ModelPlan = asksWords ? read : { ...read, tied: true }
  if (model.perLayer) throw refuse(name, 'vectors of a model whose layers are given their own (per-layer embeddings)')
  const { hidden, contextLength, border = contextLength } = model
  // Texts are computed side by side, all by the same angles.
  const positions = Math.min(contextLength, border)
  const together = outline.decision?.type === 'clef' ? readJoint(outline.decision, name) : undefined
  const decision = outline.decision && !together ? readDecision(outline.decision, name) : undefined
  const plainVectors = () =>
    outline.sentence
      ? readVectors(outline.sentence, name, hidden, positions)
      : scoreOf(outline, hidden, positions, name)
  const scoring = decision && scorer(hidden, Math.min(decision.most ?? positions, positions))
  const vectors = together ? scoredTogether(positions) : (scoring ?? plainVectors())
  const attention = model.layers.filter((layer) => layer.kind === 'attention')
  const causal = attention.every((layer) => layer.causal !== false)
  if (causal && vectors.pool === 'first') throw refuse(name, 'the first token of a model that sees nothing after it')
  if (causal && decision) throw refuse(name, 'marks of a model that sees nothing after them')
  const keeps = (layer: LayerPlan) =>
    layer.kind !== 'attention' && mixerOf(layer).states(layer, model.hidden).length > 0
  if (!together && model.layers.some(keeps)) throw refuse(name, 'vectors of a model with states')
  if (decision) assertHeads(hidden, attention[0]?.heads ?? 0, name)
  const head = decision && planDecisionApart(outline, decision, vectors, hidden)
  const dense = head?.dense ?? (asksWords ? [] : planDense(outline, vectors))
  // Those have their own names, which no architecture knows.
  const own = new Set(vectors.dense.flatMap((one) => [`${one.name}.weight`, `${one.name}.bias`]))
  const joint = together && planJoint(outline, together, model, name)
  const body = head?.trunk ?? joint?.trunk ?? { ...outline, names: outline.names.filter((each) => !own.has(each)) }
  const tensors = planTensors(body, architecture, model, quantize, name)
  const kept = sharedKept(model)
  const headCache = head ? [{ heads: attention[0]!.heads, headSize: hidden / attention[0]!.heads }] : []
  return {
    kind: 'decoder',
    judges: asksWords,
    model,
    vectors,
    tensors,
    dense,
    kept,
    ...(head && { decision: { plan: decision, planned: head.decision, pooled: head.pooled } }),
    ...(joint && { joint: { plan: together, planned: joint.planned } }),
    positions,
    caches: [...kept.caches, ...headCache, ...(joint ? [cacheOfJoint(joint.planned)] : [])],
    need(device) {
      const { input, between, mixed, feedForwards } = layersRoom(model)
      const sum = (widths: Iterable<number>) => [...widths].reduce((sum, one) => sum + one, 0)
      const [wide, seen, within] = [
        sum(input) + sum(between),
        sum(mixed),
        sum(feedForwards.map(({ written }) => written)),
      ]
      // A processor keeps rows beside them in the form in which they are multiplied.
      const multiplied = hidden + seen + sum(feedForwards.map(({ prepared }) => prepared))
      const prepared = device.info.kind === 'cpu' ? multiplied : 0
      const size = Math.max(...kept.caches.map(({ headSize }) => headSize))
      const more = (head?.decision.layers ?? []).flatMap(({ qkv, output, inner, down }) => [qkv, output, inner, down])
      const matrices = [...dense, ...more].reduce((sum, one) => sum + matrixBytes(device, one), 0)
      // What its layers write, and what is read at its marks, which may be any tokens.
      const ofHead = head ? 9 * hidden + numbersOf(vectors, hidden) : 0
      const ofJoint = joint && needOfJoint(device, joint.planned, hidden)
      return {
        weights: weightBytes(device, tensors) + matrices + 4 * hidden * 4 * more.length + (ofJoint?.weights ?? 0),
        perRow:
          (addsApart(model) ? 3 : 2) * hidden + wide + 2 * seen + within + prepared + ofHead + (ofJoint?.perRow ?? 0),
        perText: numbersOf(vectors, hidden) + hidden + model.vocabulary / 64 + sum(kept.states),
        // Angles: at most two kinds.
        perPosition: 2 * size + (head ? hidden : 0) + (joint ? joint.planned.width / joint.planned.heads : 0),
        ...(ofJoint && { fixed: ofJoint.fixed }),
      }
    },
  }
}
