/** Names that most architectures share. */
import type { Names } from './architecture.js'

const LAYER = 'model.layers.#'

/** MLC keeps the projections that read the same input in one matrix. */
export const MLC: Names = {
  embedding: 'model.embed_tokens',
  norm: 'model.norm',
  head: 'lm_head',
  attentionNorm: `${LAYER}.input_layernorm`,
  qkv: `${LAYER}.self_attn.qkv_proj`,
  queryNorm: `${LAYER}.self_attn.q_norm`,
  keyNorm: `${LAYER}.self_attn.k_norm`,
  output: `${LAYER}.self_attn.o_proj`,
  mlpNorm: `${LAYER}.post_attention_layernorm`,
  gateUp: `${LAYER}.mlp.gate_up_proj`,
  down: `${LAYER}.mlp.down_proj`,
}

export const HUGGINGFACE: Names = {
  ...MLC,
  qkv: ['q', 'k', 'v'].map((each) => `${LAYER}.self_attn.${each}_proj`),
  gateUp: ['gate', 'up'].map((each) => `${LAYER}.mlp.${each}_proj`),
}

/** Where norms stand after attention and MLP. */
export const AFTER: Names = {
  attentionAfter: `${LAYER}.post_attention_layernorm`,
  mlpAfter: `${LAYER}.post_feedforward_layernorm`,
}

export const GGUF: Names = {
  embedding: 'token_embd',
  norm: 'output_norm',
  head: 'output',
  rows: 'cls.output',
  attentionNorm: 'blk.#.attn_norm',
  qkv: ['q', 'k', 'v'].map((each) => `blk.#.attn_${each}`),
  queryNorm: 'blk.#.attn_q_norm',
  keyNorm: 'blk.#.attn_k_norm',
  output: 'blk.#.attn_output',
  mlpNorm: 'blk.#.ffn_norm',
  gateUp: ['gate', 'up'].map((each) => `blk.#.ffn_${each}`),
  down: 'blk.#.ffn_down',
}

export const GGUF_AFTER: Names = { attentionAfter: 'blk.#.post_attention_norm', mlpAfter: 'blk.#.post_ffw_norm' }

export const NAMES = { mlc: MLC, huggingface: HUGGINGFACE, gguf: GGUF } as const

/** What a vision model has beside its decoder. */
export const VISION = /^((model\.)?(vision_tower|multi_modal_projector)|v|mm)\./

/** MLC's name of the fused projection in Qwen's models. */
export const QWEN_NAMES = { ...NAMES, mlc: { ...MLC, qkv: `${LAYER}.self_attn.c_attn` } } as const
