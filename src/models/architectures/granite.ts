import type { JsonObject } from '../../platform/index.js'
import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import type { TakeKey } from './gguf.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { type AttentionOptions, readAttention, readGated } from './read-decoder.js'

/** Of Mamba's layers, of which converters write the sizes beside a model that has none of them. */
const STATES = ['conv_kernel', 'state_size', 'group_count', 'inner_size', 'time_step_rank']

/** llama.cpp's names, and what it takes for whether positions turn: elsewhere that says how a model was trained. */
export function ownOfGranite(take: TakeKey): JsonObject {
  for (const key of STATES) take(`ssm.${key}`)
  return {
    attention_multiplier: take('attention.scale'),
    embedding_multiplier: take('embedding_scale'),
    residual_multiplier: take('residual_scale'),
    logits_scaling: take('logit_scale'),
    position_embedding_type: take('rope.scaling.finetuned') === false ? 'nope' : 'rope',
    // Of the MLP that all tokens share beside experts, and where there are none of the one that there is.
    shared_intermediate_size: take('expert_shared_feed_forward_length'),
  }
}

/** What sets the attention of all of them apart. */
export const readGraniteTraits = (fields: Fields): AttentionOptions => ({
  scale: fields.number('attention_multiplier', 1),
  rope: fields.word('position_embedding_type', ['rope', 'nope'], 'rope') === 'rope',
})

/** Llama with four factors, whose queries and keys may stand still. */
export const granite: Architecture = {
  ...llama,
  names: { huggingface: NAMES.huggingface, gguf: NAMES.gguf },
  gguf: { interleaved: true, own: ownOfGranite },
  unused: ['shared_intermediate_size'],
  beside: (fields) => ({
    embeddingScale: fields.number('embedding_multiplier', 1),
    residualScale: fields.number('residual_multiplier', 1),
    logitScale: 1 / fields.number('logits_scaling', 1),
  }),
  layer: (fields) => ({
    mixer: readAttention(fields, readGraniteTraits(fields)),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
