import type { JsonObject } from '../../platform/index.js'
import type { AttentionLayer } from '../model-plan.js'
import { refuse } from '../refuse.js'
import type { Architecture, FeedForwardReading, MixerReading, Names } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, planExperts } from './experts.js'
import type { Fields } from './fields.js'
import { GEMMA_NORMS } from './gemma3.js'
import type { GgufForm, TakeKey } from './gguf.js'
import { GGUF_AFTER, NAMES } from './names.js'
import { readAttention, readGated, readRows, slidesAllBut, where } from './read-decoder.js'

const LAYER = 'model.layers.#'
const HUGGINGFACE: Names = {
  ...NAMES.huggingface,
  ...GEMMA_NORMS,
  query: `${LAYER}.self_attn.q_proj`,
  perLayerTable: 'model.embed_tokens_per_layer',
  perLayerProduct: 'model.per_layer_model_projection',
  perLayerNorm: 'model.per_layer_projection_norm',
  perLayerIn: `${LAYER}.per_layer_input_gate`,
  perLayerOut: `${LAYER}.per_layer_projection`,
  perLayerAfter: `${LAYER}.post_per_layer_input_norm`,
  total: `${LAYER}.layer_scalar`,
  queryKey: ['q', 'k', 'k'].map((each) => `${LAYER}.self_attn.${each}_proj`),
  value: `${LAYER}.self_attn.v_proj`,
  router: `${LAYER}.router.proj`,
  routerNorm: `${LAYER}.router.scale`,
  expertFactors: `${LAYER}.router.per_expert_scale`,
  expertsIn: `${LAYER}.experts.gate_up_proj`,
  expertsOut: `${LAYER}.experts.down_proj`,
  expertsNorm: `${LAYER}.pre_feedforward_layernorm_2`,
  expertsAfter: `${LAYER}.post_feedforward_layernorm_2`,
  denseAfter: `${LAYER}.post_feedforward_layernorm_1`,
}
/** Gates and values together, queries, keys and values apart; the second table in a piece for each layer. */
const MLC: Names = {
  ...HUGGINGFACE,
  gateUp: NAMES.mlc.gateUp,
  perLayerTable: 'model.embed_tokens_per_layer.#',
}
const GGUF: Names = {
  ...NAMES.gguf,
  ...GGUF_AFTER,
  query: 'blk.#.attn_q',
  perLayerTable: 'per_layer_token_embd',
  perLayerProduct: 'per_layer_model_proj',
  perLayerNorm: 'per_layer_proj_norm',
  perLayerIn: 'blk.#.inp_gate',
  perLayerOut: 'blk.#.proj',
  perLayerAfter: 'blk.#.post_norm',
  total: 'blk.#.layer_output_scale',
  queryKey: ['q', 'k', 'k'].map((each) => `blk.#.attn_${each}`),
  value: 'blk.#.attn_v',
  router: EXPERT_NAMES.gguf.router,
  routerNorm: 'blk.#.ffn_gate_inp.scale',
  expertFactors: 'blk.#.ffn_down_exps.scale',
  expertsIn: 'blk.#.ffn_gate_up_exps',
  expertsOut: EXPERT_NAMES.gguf.expertsOut,
  expertsNorm: 'blk.#.pre_ffw_norm_2',
  expertsAfter: 'blk.#.post_ffw_norm_2',
  denseAfter: 'blk.#.post_ffw_norm_1',
}

const LOCAL_HEAD = 256
const FULL_HEAD = 512
const LOCAL_THETA = 10_000
const THETA = 1_000_000
const TURNING = 0.25
/** llama.cpp numbers them so. */
const SOFTMAX = 1

/** One number, or one for each layer: in those that share keys it may be twice as large. */
function fromGguf(take: Parameters<NonNullable<GgufForm['own']>>[0], config: JsonObject): JsonObject {
  const model = 'This model'
  const count = Number(config.num_hidden_layers)
  const shared = Number(take('attention.shared_kv_layers') ?? 0)
  const local = Number(take('attention.key_length_swa') ?? config.head_dim)
  const full = Number(config.head_dim)
  const sizes = { 'attention.value_length': full, 'rope.dimension_count': full }
  const locals = { 'attention.value_length_swa': local, 'rope.dimension_count_swa': local }
  for (const [key, size] of Object.entries({ ...sizes, ...locals })) {
    const given = take(key) ?? size
    if (given !== size) throw refuse(model, `${key} = ${String(given)} with heads of ${size}`)
  }
  const inner = config.intermediate_size
  const pattern = take('attention.sliding_window_pattern')
  const kinds = Array.isArray(pattern) ? pattern : Array.from({ length: count }, () => pattern === true)
  return {
    head_dim: local,
    global_head_dim: full,
    num_kv_shared_layers: shared,
    hidden_size_per_layer_input: take('embedding_length_per_layer_input') ?? 0,
    final_logit_softcapping: take('final_logit_softcapping'),
    layer_types: kinds.map((slides) => (slides ? 'sliding_attention' : 'full_attention')),
    ...(Array.isArray(inner) && readInner(inner, count - shared, model)),
    ...readKeyHeads(config.num_key_value_heads, kinds, model),
    ...readGgufExperts(take, model),
    rope_theta: undefined,
    rope_parameters: {
      full_attention: { ...turning(take('rope_freqs'), model), rope_theta: config.rope_theta ?? THETA },
      sliding_attention: { rope_type: 'default', rope_theta: take('rope.freq_base_swa') ?? LOCAL_THETA },
    },
  }
}

/** One number, or one for each layer: of those that see all another. */
function readKeyHeads(heads: unknown, kinds: readonly unknown[], model: string): JsonObject {
  const keys = { attention_k_eq_v: true }
  if (!Array.isArray(heads)) return keys
  const of = (slides: boolean) => [...new Set(heads.filter((_, i) => (kinds[i] === true) === slides))]
  const [local, full] = [of(true), of(false)]
  if (local.length > 1 || full.length > 1) throw refuse(model, `head_count_kv = ${JSON.stringify(heads)}`)
  return { ...keys, num_key_value_heads: local[0] ?? full[0], num_global_key_value_heads: full[0] }
}

function readGgufExperts(take: TakeKey, model: string): JsonObject {
  const { num_experts_per_tok: top_k_experts, ...experts } = ggufExperts(take)
  const scores = take('expert_gating_func') ?? SOFTMAX
  if (scores !== SOFTMAX) throw refuse(model, `expert_gating_func = ${String(scores)}`)
  return { ...experts, top_k_experts, enable_moe_block: Number(experts.num_experts ?? 0) > 0 }
}

function readInner(inner: readonly unknown[], owners: number, model: string): JsonObject {
  const [first] = inner
  const fits = inner.every((size, i) => size === (i < owners ? first : 2 * Number(first)))
  if (!fits) throw refuse(model, `feed_forward_length = ${JSON.stringify(inner)}`)
  return { intermediate_size: first, use_double_wide_mlp: true }
}

/** Divisors of angles: 1 for pairs that turn, and for the others so much that they stand still. */
function turning(divisors: unknown, model: string): JsonObject {
  if (!Array.isArray(divisors)) return { rope_type: 'default' }
  const still = divisors.findIndex((divisor) => divisor !== 1)
  const pairs = still < 0 ? divisors.length : still
  if (divisors.slice(pairs).some((divisor) => Number(divisor) < 1e20)) {
    throw refuse(model, 'divisors of angles (rope_freqs) that neither leave a pair as it is nor stop it')
  }
  return { rope_type: 'proportional', partial_rotary_factor: pairs / divisors.length }
}

/** Whether a layer sees a window; the last sees all. */
function slidesIn(fields: Fields): (layer: number) => boolean {
  const slides = slidesAllBut(fields, 6)
  if (slides(fields.count('num_hidden_layers') - 1)) throw fields.odd('layer_types', 'sliding_attention last of all')
  return slides
}

/** What attention of all layers has. */
const EACH = { queryKeyNorm: 'head', scale: 1, valueNorm: true } as const

/** Of sliding layers: whole heads turn. */
function readLocal(fields: Fields): MixerReading {
  const part = fields.part('rope_parameters')?.part('sliding_attention')
  part?.word('rope_type', ['default'], 'default')
  const theta = part?.number('rope_theta', LOCAL_THETA) ?? LOCAL_THETA
  const window = fields.count('sliding_window', 512)
  const headSize = fields.count('head_dim')
  return readAttention(fields, { ...EACH, headSize, window, angles: (size) => ({ angles: { size, theta } }) })
}

/** Angles of full layers: those of the whole head, of whose pairs only the first turn. */
function readFullAngles(fields: Fields, size: number) {
  const part = fields.part('rope_parameters')?.part('full_attention')
  const type = part?.word('rope_type', ['proportional', 'default'], 'default') ?? 'proportional'
  const theta = part?.number('rope_theta', THETA) ?? THETA
  if (type === 'default') return { size, theta }
  const share = part?.number('partial_rotary_factor', 1) ?? TURNING
  if (share > 1) throw fields.odd('partial_rotary_factor', share)
  const factor = part?.number('factor', 1) ?? 1
  const scaling = { type: 'linear', factor } as const
  return { size, theta, pairs: Math.floor((share * size) / 2), ...(factor !== 1 && { scaling }) }
}

/** The head of full layers: one number, or, as transformers writes it since, one for each of them. */
function readFullHead(fields: Fields, slides: (layer: number) => boolean): number {
  const size = fields.count('global_head_dim', FULL_HEAD)
  const each = fields.part('per_layer_config')
  if (!each) return size
  const own = Array.from({ length: fields.count('num_hidden_layers') }, (_, i) => i).filter((i) => !slides(i))
  const sizes = new Set(own.map((i) => each.part(String(i))?.count('head_dim', size) ?? fields.count('head_dim')))
  if (sizes.size > 1) throw refuse(fields.model, 'full layers with heads of different sizes (per_layer_config)')
  return [...sizes][0] ?? size
}

/** Keys of full layers, where there are fewer of them, and values are what they are made of. */
function readFullKeys(fields: Fields): Partial<AttentionLayer> {
  const fewer = fields.limit('num_global_key_value_heads')
  if (!fields.flag('attention_k_eq_v')) return {}
  if (fewer && fields.count('num_attention_heads') % fewer !== 0) throw fields.odd('num_global_key_value_heads', fewer)
  return { keysMayBeValues: true, ...(fewer && { keyHeads: fewer }) }
}

function readFull(fields: Fields): MixerReading {
  const headSize = readFullHead(fields, slidesIn(fields))
  return readAttention(fields, {
    ...EACH,
    ...readFullKeys(fields),
    headSize,
    angles: (size) => ({ angles: readFullAngles(fields, size) }),
  })
}

const ownersIn = (fields: Fields) => fields.count('num_hidden_layers') - (fields.limit('num_kv_shared_layers') ?? 0)

/** The last layer of a kind that has keys and values of its own. */
function lastOf(fields: Fields, slides: (layer: number) => boolean, owners: number, sliding: boolean): number {
  for (let layer = owners - 1; layer >= 0; layer--) if (slides(layer) === sliding) return layer
  throw fields.odd('num_kv_shared_layers', fields.get('num_kv_shared_layers'))
}

/** The last layers see keys and values of earlier ones of their kind. */
function readSharing(fields: Fields, attention: MixerReading): MixerReading {
  const [slides, owners] = [slidesIn(fields), ownersIn(fields)]
  const keysOf = (layer: number) => layer >= owners && { keysOf: lastOf(fields, slides, owners, slides(layer)) }
  return { ...attention, of: (layer) => ({ ...attention.of(layer), ...keysOf(layer) }) }
}

/** Experts stand beside an MLP, where there are any. */
function readMixed(fields: Fields): FeedForwardReading {
  const [experts, chosen] = [fields.limit('num_experts'), fields.limit('top_k_experts')]
  const inner = fields.limit('moe_intermediate_size')
  if (!fields.flag('enable_moe_block')) return readGated(fields, { gate: 'gelu' })
  const given = fields.replaced({ num_experts: experts, num_experts_per_tok: chosen, moe_intermediate_size: inner })
  const plan = planExperts(given, { scores: 'softmax', normed: true, factors: true })
  return readRows(
    fields,
    { gate: 'gelu' },
    { feedForward: { kind: 'mixed', size: fields.count('intermediate_size'), experts: plan } },
  )
}

/** Layers that share keys may have a larger MLP, and no experts. */
function readFeedForwards(fields: Fields): FeedForwardReading {
  const owners = ownersIn(fields)
  const size = fields.count('intermediate_size') * (fields.flag('use_double_wide_mlp') ? 2 : 1)
  return where((layer) => layer < owners, readMixed(fields), readGated(fields, { gate: 'gelu', size }))
}

/**
 * Gemma 4, text: heads of full layers are larger, and turn in part; the last layers see keys and values of earlier ones of
 * their kind; each layer is given a vector of its own for every token. In larger ones values of full layers are what keys
 * are made of, and the largest mixture has experts beside each MLP.
 */
export const gemma4: Architecture = {
  names: { huggingface: HUGGINGFACE, mlc: MLC, gguf: GGUF },
  others: { gguf: [{ expertsIn: EXPERT_NAMES.gguf.expertsIn }] },
  gguf: { own: fromGguf },
  prefixes: ['model.language_model.', 'language_model.model.', 'language_model.'],
  idle: /^(model\.)?(vision_tower|audio_tower|audio_preprocessor|embed_vision|embed_audio|multi_modal_projector)\.|^(v|a|mm)\./,
  defaults: {
    num_key_value_heads: 4,
    head_dim: LOCAL_HEAD,
    rms_norm_eps: 1e-6,
    max_position_embeddings: 131_072,
    tie_word_embeddings: true,
  },
  prepare(fields) {
    // Of pictures alone; what is text sees nothing that follows.
    fields.word('use_bidirectional_attention', ['none', 'vision'], 'none')
  },
  beside(fields, plan) {
    const size = fields.limit('hidden_size_per_layer_input')
    // Told where layers are given nothing, too.
    const vocabulary = fields.limit('vocab_size_per_layer_input') ?? plan.vocabulary
    if (size && vocabulary !== plan.vocabulary) throw fields.odd('vocab_size_per_layer_input', vocabulary)
    const logitCap = fields.limit('final_logit_softcapping')
    return {
      ...(logitCap && { logitCap }),
      embeddingScale: Math.sqrt(plan.hidden),
      ...(size && { perLayer: { size, scale: Math.sqrt(size), sumScale: Math.SQRT1_2 } }),
    }
  },
  layer: (fields) => ({
    mixer: readSharing(fields, where(slidesIn(fields), readLocal(fields), readFull(fields))),
    feedForward: readFeedForwards(fields),
    arrangement: 'both',
    scaled: true,
  }),
}
