/** Cohere's Command R7B: attention and MLP read the same rows, normed as LayerNorm does, and both are added. */
import type { Case } from '../family.js'
import { Attention, add, frequencies, layerNorm, product, rotate, silu, times, type Vector } from '../float64.js'
import {
  embedding,
  gatedMlp,
  type LlamaShape,
  layerName,
  llamaConfig,
  llamaGgufTensors,
  llamaMetadata,
  llamaTensors,
  rotateNeighbours,
  SMALL,
} from './llama.js'

/** Its heads make up its width. */
const SHAPE: LlamaShape = { ...SMALL, hidden: 256, layers: 5, inner: 256, tied: true, theta: 50_000 }
const WINDOW = 32
const PATTERN = 4
const SCALE = 0.25
const MISTAKES = [
  'adds attention before the MLP reads',
  'norms without the mean',
  'turns halves',
  'turns every layer',
  'sees all in every layer',
  'forgets the scale of logits',
]

export const cohere2: Case = {
  name: 'cohere2',
  config: {
    ...llamaConfig(SHAPE, 'cohere2', 'Cohere2ForCausalLM'),
    rms_norm_eps: undefined,
    layer_norm_eps: SHAPE.epsilon,
    logit_scale: SCALE,
    attention_bias: false,
    sliding_window: WINDOW,
    sliding_window_pattern: PATTERN,
    ...{ position_embedding_type: 'rope_gptj', rotary_pct: 1, rope_scaling: null, tie_word_embeddings: undefined },
    ...{ use_embedding_sharing: true, use_gated_activation: true, use_parallel_block: true },
  },
  tensors: llamaTensors(SHAPE).filter(({ name }) => !name.includes('post_attention_layernorm')),
  prompt: 80,
  mistakes: MISTAKES,
  reference(weights, mistake, kept) {
    const { hidden, headSize, keyHeads, epsilon, layers } = SHAPE
    const caches = Array.from({ length: layers }, () => new Attention(kept))
    const angles = frequencies(SHAPE.theta, headSize)
    let position = 0
    const norm = (x: Vector, name: string) => {
      const weight = weights(name)
      if (mistake !== 'norms without the mean') return layerNorm(x, weight, undefined, epsilon)
      const square = x.reduce((sum, value) => sum + value ** 2, 0) / x.length
      return x.map((value, i) => (value / Math.sqrt(square + epsilon)) * weight[i]!)
    }
    return {
      step(token) {
        let x = embedding(weights, token, hidden)
        for (let i = 0; i < layers; i++) {
          const at = layerName(i)
          const of = (name: string) => weights(`${at}.self_attn.${name}_proj.weight`)
          const slides = (i + 1) % PATTERN !== 0
          const h = norm(x, `${at}.input_layernorm.weight`)
          const turns = slides || mistake === 'turns every layer'
          const turn = (y: Vector) => {
            if (!turns) return y
            return (mistake === 'turns halves' ? rotate : rotateNeighbours)(y, headSize, position, angles)
          }
          const window = slides && mistake !== 'sees all in every layer' ? { window: WINDOW } : {}
          const form = { headSize, keyHeads, scale: headSize ** -0.5, ...window }
          const seen = caches[i]!.look(turn(product(of('q'), h)), turn(product(of('k'), h)), product(of('v'), h), form)
          const attended = add(x, product(of('o'), seen))
          const late = mistake === 'adds attention before the MLP reads'
          const read = late ? norm(attended, `${at}.input_layernorm.weight`) : h
          x = add(attended, gatedMlp(read, weights, `${at}.mlp`, silu))
        }
        position++
        const logits = product(weights('model.embed_tokens.weight'), norm(x, 'model.norm.weight'))
        return times(logits, mistake === 'forgets the scale of logits' ? 1 : SCALE)
      },
    }
  },
  gguf: {
    architecture: 'cohere2',
    metadata(out) {
      llamaMetadata(out, 'cohere2', SHAPE)
      out.float('cohere2.attention.layer_norm_epsilon', SHAPE.epsilon)
      out.float('cohere2.logit_scale', SCALE)
      out.u32('cohere2.attention.sliding_window', WINDOW)
    },
    tensors: (weights) =>
      llamaGgufTensors(
        SHAPE,
        (name) => (name.includes('post_attention_layernorm') ? new Float64Array(0) : weights(name)),
        false,
      ).filter(({ values }) => values.length > 0),
  },
}
