import type { Case } from '../family.js'
import { frequencies, type Vector } from '../float64.js'
import { llamaConfig, llamaGgufTensors, llamaMetadata, llamaReference, llamaTensors, SMALL } from './llama.js'

const SHAPE = { ...SMALL, inner: 256, layers: 3, headSize: 128, theta: 1_000_000 }
const YARN = { factor: 4, original: 48, fast: 32, slow: 1, beta: 0.1 }

/** YaRN: fast turning pairs stay, slow ones are stretched, and between them lies a ramp. */
function stretched(mistake: string | undefined): Vector {
  const { headSize, theta } = SHAPE
  const original = mistake === 'takes the longest length for the range' ? 2048 : YARN.original
  const pairAt = (turns: number) => (headSize * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const low = Math.max(0, Math.floor(pairAt(YARN.fast)))
  const high = Math.min(headSize - 1, Math.ceil(pairAt(YARN.slow)))
  const factor = mistake === 'stretches nothing' ? 1 : YARN.factor
  return frequencies(theta, headSize).map((angle, i) => {
    const slow = mistake === 'stretches all' ? 1 : Math.min(1, Math.max(0, (i - low) / Math.max(high - low, 1e-3)))
    return (angle / factor) * slow + angle * (1 - slow)
  })
}

/** Queries that come late are longer, by steps of the length that the model was first trained on. */
function grown(position: number, mistake: string | undefined): number {
  if (mistake === 'forgets to scale queries') return 1
  const steps = mistake === 'scales queries smoothly' ? position / YARN.original : Math.floor(position / YARN.original)
  return 1 + YARN.beta * Math.log(1 + steps)
}

export const ministral3: Case = {
  name: 'ministral3',
  config: {
    ...llamaConfig(SHAPE, 'ministral3', 'Ministral3ForCausalLM'),
    rope_theta: undefined,
    rope_parameters: {
      rope_type: 'yarn',
      type: 'yarn',
      rope_theta: SHAPE.theta,
      factor: YARN.factor,
      original_max_position_embeddings: YARN.original,
      beta_fast: YARN.fast,
      beta_slow: YARN.slow,
      mscale: 1,
      mscale_all_dim: 1,
      llama_4_scaling_beta: YARN.beta,
    },
    sliding_window: null,
  },
  tensors: llamaTensors(SHAPE),
  prompt: 120,
  mistakes: [
    'takes the longest length for the range',
    'stretches nothing',
    'stretches all',
    'forgets to scale queries',
    'scales queries smoothly',
  ],
  reference: (weights, mistake, kept) =>
    llamaReference(SHAPE, weights, {
      kept,
      angles: stretched(mistake),
      queryFactor: (position) => grown(position, mistake),
    }),
  gguf: {
    architecture: 'mistral3',
    metadata: (out) => {
      llamaMetadata(out, 'mistral3', SHAPE)
      out.text('mistral3.rope.scaling.type', 'yarn')
      out.float('mistral3.rope.scaling.factor', YARN.factor)
      out.u32('mistral3.rope.scaling.original_context_length', YARN.original)
      out.float('mistral3.rope.scaling.yarn_beta_fast', YARN.fast)
      out.float('mistral3.rope.scaling.yarn_beta_slow', YARN.slow)
      out.float('mistral3.rope.scaling.yarn_log_multiplier', 1)
      out.float('mistral3.attention.temperature_scale', YARN.beta)
    },
    tensors: (weights) => llamaGgufTensors(SHAPE, weights, true),
  },
}
