import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAnglesOfPart } from './read-angles.js'
import { readAttention, readGated, readWindow } from './read-decoder.js'

/** Phi 3, 3.5 and 4-mini: fused projections, LongRoPE, and in the last one a part of each head that does not turn. */
export const phi3: Architecture = {
  ...llama,
  gguf: { partial: true },
  names: {
    gguf: { ...NAMES.gguf, qkv: 'blk.#.attn_qkv', gateUp: 'blk.#.ffn_up' },
    huggingface: { ...NAMES.huggingface, qkv: NAMES.mlc.qkv, gateUp: NAMES.mlc.gateUp },
    mlc: {
      embedding: 'transformer.embd',
      norm: 'transformer.norm',
      head: 'lm_head',
      attentionNorm: 'transformer.h.#.ln',
      qkv: 'transformer.h.#.mixer.qkv_proj',
      output: 'transformer.h.#.mixer.out_proj',
      mlpNorm: 'transformer.h.#.post_attention_layernorm',
      gateUp: 'transformer.h.#.mlp.gate_up_proj',
      down: 'transformer.h.#.mlp.down_proj',
    },
  },
  unused: ['original_max_position_embeddings'],
  layer: (fields) => ({
    mixer: readAttention(fields, { window: readWindow(fields), angles: readAnglesOfPart(fields, 1) }),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
