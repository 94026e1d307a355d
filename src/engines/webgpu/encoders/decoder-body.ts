/** A decoder as a model that makes vectors: Qwen3-Embedding, EmbeddingGemma and their like. */
import type { WeightOutline } from '../../../repository/source.js'
import { readModel } from '../architectures/index.js'
import { joinsApart } from '../model/blocks/arrangement/index.js'
import { mixerOf } from '../model/blocks/mixers/index.js'
import type { LayerPlan, ModelPlan } from '../model/model-plan.js'
import { planTensors } from '../model/plan-tensors.js'
import { refuse } from '../model/refuse.js'
import { matrixBytes, roomOf, weightBytes } from '../model/size.js'
import { ENCODERS } from './bert.js'
import { assertHeads, planDecisionApart, readDecision, scorer } from './decision-plan.js'
import { type EncoderBody, numbersOf } from './encoder-body.js'
import { planDense } from './plan-encoder.js'
import { sharedKept } from './pooled-decoder.js'
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
  const decision = outline.decision && readDecision(outline.decision, name)
  const vectors = decision
    ? scorer(hidden, Math.min(decision.most ?? positions, positions))
    : outline.sentence
      ? readVectors(outline.sentence, name, hidden, positions)
      : scoreOf(outline, hidden, positions, name)
  const attention = model.layers.filter((layer) => layer.kind === 'attention')
  const causal = attention.every((layer) => layer.causal !== false)
  if (causal && vectors.pool === 'first') throw refuse(name, 'the first token of a model that sees nothing after it')
  if (causal && decision) throw refuse(name, 'marks of a model that sees nothing after them')
  const keeps = (layer: LayerPlan) =>
    layer.kind !== 'attention' && mixerOf(layer).states(layer, model.hidden).length > 0
  if (model.layers.some(keeps)) throw refuse(name, 'vectors of a model with states')
  if (decision) assertHeads(hidden, attention[0]?.heads ?? 0, name)
  const head = decision && planDecisionApart(outline, decision, vectors, hidden)
  const dense = head?.dense ?? (asksWords ? [] : planDense(outline, vectors))
  // Those have their own names, which no architecture knows.
  const own = new Set(vectors.dense.flatMap((one) => [`${one.name}.weight`, `${one.name}.bias`]))
  const body = head?.trunk ?? { ...outline, names: outline.names.filter((each) => !own.has(each)) }
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
    most: vectors.most,
    positions,
    caches: [...kept.caches, ...headCache],
    need(device) {
      const { input, mixed, feedForwards } = roomOf(model)
      const sum = (widths: Iterable<number>) => [...widths].reduce((sum, one) => sum + one, 0)
      const [wide, seen, within] = [sum(input), sum(mixed), sum(feedForwards.map(({ written }) => written))]
      // A processor keeps rows beside them in the form in which they are multiplied.
      const multiplied = hidden + seen + sum(feedForwards.map(({ prepared }) => prepared))
      const prepared = device.info.kind === 'cpu' ? multiplied : 0
      const size = Math.max(...kept.caches.map(({ headSize }) => headSize))
      const more = (head?.decision.layers ?? []).flatMap(({ qkv, output, inner, down }) => [qkv, output, inner, down])
      const matrices = [...dense, ...more].reduce((sum, one) => sum + matrixBytes(device, one), 0)
      // What its layers write, and what is read at its marks, which may be any tokens.
      const ofHead = head ? 9 * hidden + numbersOf(vectors, hidden) : 0
      return {
        weights: weightBytes(device, tensors) + matrices + 4 * hidden * 4 * more.length,
        perRow: (joinsApart(model) ? 3 : 2) * hidden + wide + 2 * seen + within + prepared + ofHead,
        perText: numbersOf(vectors, hidden) + hidden + model.vocabulary / 64,
        // Angles: at most two kinds.
        perPosition: 2 * size + (head ? hidden : 0),
      }
    },
  }
}
