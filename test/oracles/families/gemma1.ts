import type { Case, Weights } from '../family.js'
import { geluTanh, silu } from '../float64.js'
import { llamaConfig, llamaGgufTensors, llamaMetadata, llamaReference, llamaTensors, SMALL } from './llama.js'

const SHAPE = { ...SMALL, inner: 256, heads: 2, keyHeads: 1, headSize: 256, tied: true, epsilon: 1e-6 }
const MISTAKES = ['forgets the one of norms', 'forgets sqrt(hidden)', 'takes silu for gelu'] as const

/** The first Gemma. Its files call gelu by tanh `gelu`, from before there was a name for it. */
export const gemma1: Case = {
  name: 'gemma',
  config: { ...llamaConfig(SHAPE, 'gemma', 'GemmaForCausalLM'), hidden_act: 'gelu', attention_bias: false },
  tensors: llamaTensors(SHAPE, 0).map((spec) =>
    // Else the embeddings, which sqrt(hidden) makes larger, would drown what the layers say.
    spec.name === 'model.embed_tokens.weight' ? { ...spec, deviation: 0.04 } : spec,
  ),
  prompt: 60,
  mistakes: MISTAKES,
  reference: (weights, mistake, kept) =>
    llamaReference(SHAPE, weights, {
      kept,
      embeddingFactor: mistake === MISTAKES[1] ? 1 : Math.sqrt(SHAPE.hidden),
      normOffset: mistake === MISTAKES[0] ? 0 : 1,
      gate: mistake === MISTAKES[2] ? silu : geluTanh,
    }),
  gguf: {
    architecture: 'gemma',
    approximate: true,
    metadata: (out) => llamaMetadata(out, 'gemma', SHAPE),
    // The one that is added to a norm's weight is already in it there.
    tensors(weights) {
      const grown: Weights = (name) => weights(name).map((value) => (name.includes('norm') ? value + 1 : value))
      return llamaGgufTensors(SHAPE, grown, false)
    },
  },
}
