/** Which stored tensors make a ModernBERT, and its memory. */
import type { WeightOutline } from '../files/source.js'
import { assertHeads, type DecisionPlan, IDLE_DECISION, planDecision, readDecision, scorer } from './decision-plan.js'
import { type EncoderBody, matricesBytes, numbersOf, preparedOf } from './encoder-body.js'
import {
  type ModernPlan,
  type PlannedModern,
  type PlannedModernLayer,
  readModernBert,
  readModernScores,
} from './modern-bert.js'
import { EncoderTensors } from './plan-encoder.js'
import { readVectors } from './read-vectors.js'
import type { VectorPlan } from './vector-plan.js'

/** The head that guesses words, which nobody asks. */
const IDLE = /^(head\.(dense|norm)|decoder)\./
const PLAIN = { plain: true } as const

export function modernBody(outline: WeightOutline, quantize: boolean, name: string): EncoderBody {
  const plan = readModernBert(outline.chatConfig, name)
  const { hidden, heads, intermediate, layers, positions } = plan
  const decision = outline.decision && readDecision(outline.decision, name)
  if (decision) assertHeads(hidden, heads, name)
  const vectors = decision
    ? scorer(hidden, Math.min(decision.most ?? positions, positions))
    : outline.sentence
      ? readVectors(outline.sentence, name, hidden, positions)
      : readModernScores(outline.chatConfig, plan, name)
  const tensors = planModern(outline, plan, vectors, quantize, decision)
  return {
    kind: 'modern',
    plan,
    ...(decision && { decision }),
    vectors,
    tensors,
    dense: tensors.dense,
    positions,
    caches: [{ heads, headSize: hidden / heads }],
    need(device) {
      const weights = matricesBytes(device, tensors, [...tensors.layers, ...(tensors.decision?.layers ?? [])])
      const prepared = preparedOf(device, plan)
      // A decision is read at its marks, which may be any tokens.
      const head = decision ? 4 * hidden + numbersOf(vectors, hidden) : 0
      const kinds = new Set(layers.map(({ theta }) => theta)).size
      return {
        weights: weights + 4 * hidden * (2 + 2 * layers.length),
        perRow: 6 * hidden + intermediate + prepared + head,
        perText: numbersOf(vectors, hidden),
        perPosition: (kinds * hidden) / heads,
      }
    },
  }
}

/** Throws the name of a tensor that is missing, has another shape than the configuration demands, or has no use. */
function planModern(
  outline: WeightOutline,
  plan: ModernPlan,
  vectors: VectorPlan,
  quantize: boolean,
  decision: DecisionPlan | undefined,
): PlannedModern {
  const { hidden, vocabulary, intermediate, layers } = plan
  const tensors = new EncoderTensors(outline, decision ? 'encoder.' : 'model.', quantize)
  const matrix = (name: string, rows: number, columns: number) => tensors.matrix([name], rows, columns, PLAIN)
  const norm = (name: string) => tensors.norm(name, hidden, PLAIN)
  const planned = {
    words: tensors.matrix(['embeddings.tok_embeddings'], vocabulary, hidden, { table: true }),
    norm: norm('embeddings.norm'),
    layers: layers.map((_, i): PlannedModernLayer => {
      const at = `layers.${i}`
      return {
        ...(i > 0 && { norm: norm(`${at}.attn_norm`) }),
        qkv: matrix(`${at}.attn.Wqkv`, 3 * hidden, hidden),
        output: matrix(`${at}.attn.Wo`, hidden, hidden),
        innerNorm: norm(`${at}.mlp_norm`),
        inner: matrix(`${at}.mlp.Wi`, 2 * intermediate, hidden),
        down: matrix(`${at}.mlp.Wo`, hidden, intermediate),
      }
    }),
    last: norm('final_norm'),
    dense: tensors.dense(vectors),
    ...(decision && { decision: planDecision(tensors, decision, hidden) }),
    ...(vectors.norm && { pooled: tensors.norm(vectors.norm.name, hidden, { whole: true }) }),
  }
  tensors.assertAllUsed(decision ? IDLE_DECISION : IDLE)
  return planned
}
