import { refuse } from '../refuse.js'
import type { Architecture, Names } from './architecture.js'
import type { Fields } from './fields.js'
import { granite, ownOfGranite, readGraniteTraits } from './granite.js'
import { NAMES } from './names.js'
import { readAttention, readGated } from './read-decoder.js'

const SHARED = 'model.layers.#.shared_mlp'
const { gateUp, down } = NAMES.huggingface

function assertNoExperts(fields: Fields): void {
  const [local, here] = [fields.get('num_local_experts'), fields.get('expert_count')]
  const used = fields.get('num_experts_per_tok')
  if (local === 0 || here === 0 || (local === undefined && here === undefined && !used)) return
  throw refuse(fields.model, `${typeOf(fields)}, a mixture of experts,`, ONLY)
}

function assertAttends(fields: Fields): void {
  const types = fields.list('layer_types', fields.count('num_hidden_layers'))
  // Transformers takes all for Mamba's where none is named.
  if (!types?.every((type) => type === 'attention'))
    throw refuse(fields.model, `${typeOf(fields)} with layers of Mamba (layer_types)`, ONLY)
}

const ONLY = 'Of this family, models run in which every layer has attention and none has experts.'
const typeOf = (fields: Fields) => `the architecture "${String(fields.get('model_type'))}"`

/** Of Mamba's layers. */
const IDLE = [
  ...['mamba_chunk_size', 'mamba_conv_bias', 'mamba_d_conv', 'mamba_d_head', 'mamba_d_state', 'mamba_expand'],
  ...['mamba_n_groups', 'mamba_n_heads', 'mamba_proj_bias', 'time_step_limit'],
]

/**
 * Granite 4.0 where every layer attends and none has experts, as 350M and 1B: Granite, in whose files the one MLP is
 * called as that which all tokens share beside experts. Their configurations say what Mamba's layers would be.
 */
export const granite4: Architecture = {
  ...granite,
  names: {
    ...granite.names,
    huggingface: { ...NAMES.huggingface, gateUp: `${SHARED}.input_linear`, down: `${SHARED}.output_linear` },
  },
  // mlx-lm takes it apart.
  others: { huggingface: [{ gateUp, down } as Names] },
  gguf: {
    interleaved: true,
    own: (take, { num_key_value_heads: heads, num_hidden_layers: layers }) => ({
      ...ownOfGranite(take),
      // A layer without keys is one of Mamba.
      layer_types: Array.from({ length: Number(layers) }, (_, i) =>
        (Array.isArray(heads) ? heads[i] : heads) === 0 ? 'mamba' : 'attention',
      ),
    }),
  },
  // The shared MLP has no biases in its definition, whatever is asked for.
  only: { mlp_bias: false },
  unused: IDLE,
  prepare(fields) {
    assertNoExperts(fields)
    assertAttends(fields)
    fields.word('normalization_function', ['rmsnorm'], 'rmsnorm')
    return fields.replaced({
      intermediate_size: fields.count('shared_intermediate_size', fields.count('intermediate_size')),
    })
  },
  layer: (fields) => ({
    mixer: readAttention(fields, readGraniteTraits(fields)),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
