/**
 * GGUF files of models that make vectors, in the words of transformers and sentence-transformers: from here on they are
 * read as those are.
 */
import type { JsonObject } from '../../../../platform/index.js'
import { broken } from '../../failure.js'
import type { SentenceFiles } from '../../sentence.js'
import { decisionForm, headedForm, takeDecision, type VectorForm } from './decision.js'

/** As llama.cpp numbers the ways to pool; its fourth makes scores. */
const POOLS = ['none', 'mean', 'cls', 'lasttoken'] as const
const RANK = 4

/** What llama.cpp calls so; the rest keeps its name. */
const FIELDS: Readonly<Record<string, string>> = {
  embedding_length: 'hidden_size',
  feed_forward_length: 'intermediate_size',
  block_count: 'num_hidden_layers',
  'attention.head_count': 'num_attention_heads',
  'attention.layer_norm_epsilon': 'layer_norm_eps',
  'attention.causal': 'is_decoder',
  context_length: 'max_position_embeddings',
}

const TENSORS: readonly [RegExp, string][] = [
  [/^token_embd\./, 'embeddings.word_embeddings.'],
  [/^position_embd\./, 'embeddings.position_embeddings.'],
  [/^token_types\./, 'embeddings.token_type_embeddings.'],
  [/^token_embd_norm\./, 'embeddings.LayerNorm.'],
  [/^blk\.(\d+)\.attn_q\./, 'encoder.layer.$1.attention.self.query.'],
  [/^blk\.(\d+)\.attn_k\./, 'encoder.layer.$1.attention.self.key.'],
  [/^blk\.(\d+)\.attn_v\./, 'encoder.layer.$1.attention.self.value.'],
  [/^blk\.(\d+)\.attn_output\./, 'encoder.layer.$1.attention.output.dense.'],
  [/^blk\.(\d+)\.attn_output_norm\./, 'encoder.layer.$1.attention.output.LayerNorm.'],
  [/^blk\.(\d+)\.ffn_up\./, 'encoder.layer.$1.intermediate.dense.'],
  [/^blk\.(\d+)\.ffn_down\./, 'encoder.layer.$1.output.dense.'],
  [/^blk\.(\d+)\.layer_output_norm\./, 'encoder.layer.$1.output.LayerNorm.'],
  [/^cls\.output\./, 'classifier.'],
  [/^cls\./, 'pooler.dense.'],
]

const MODERN_FIELDS: Readonly<Record<string, string>> = {
  ...FIELDS,
  'attention.sliding_window': 'local_attention',
  'attention.sliding_window_pattern': 'global_attn_every_n_layers',
  'rope.freq_base': 'global_rope_theta',
  'rope.freq_base_swa': 'local_rope_theta',
}

const MODERN_TENSORS: readonly [RegExp, string][] = [
  [/^token_embd\./, 'embeddings.tok_embeddings.'],
  [/^token_embd_norm\./, 'embeddings.norm.'],
  [/^output_norm\./, 'final_norm.'],
  [/^blk\.(\d+)\.attn_norm\./, 'layers.$1.attn_norm.'],
  [/^blk\.(\d+)\.attn_qkv\./, 'layers.$1.attn.Wqkv.'],
  [/^blk\.(\d+)\.attn_output\./, 'layers.$1.attn.Wo.'],
  [/^blk\.(\d+)\.ffn_norm\./, 'layers.$1.mlp_norm.'],
  [/^blk\.(\d+)\.ffn_up\./, 'layers.$1.mlp.Wi.'],
  [/^blk\.(\d+)\.ffn_down\./, 'layers.$1.mlp.Wo.'],
  [/^cls\.norm\./, 'head.norm.'],
  [/^cls\.output\./, 'classifier.'],
  [/^cls\./, 'head.dense.'],
]

interface Family {
  /** As transformers calls it, and its models. */
  readonly type: string
  readonly classes: string
  readonly prefix: string
  readonly fields: Readonly<Record<string, string>>
  readonly tensors: readonly [RegExp, string][]
  /** Tensors of a head that is no part of the model. */
  readonly head: RegExp
  /** What llama.cpp fixes in its code, or takes for granted where a file does not say it. */
  readonly own: JsonObject
}

const FAMILIES: ReadonlyMap<unknown, Family> = new Map([
  [
    'bert',
    {
      ...{ type: 'bert', classes: 'Bert', prefix: 'bert.', fields: FIELDS, tensors: TENSORS },
      head: /^cls\.output\./,
      own: { hidden_act: 'gelu' },
    },
  ],
  [
    'modern-bert',
    {
      ...{
        type: 'modernbert',
        classes: 'ModernBert',
        prefix: 'model.',
        fields: MODERN_FIELDS,
        tensors: MODERN_TENSORS,
      },
      head: /^cls\./,
      own: {
        ...{ hidden_activation: 'gelu', classifier_pooling: 'mean', classifier_activation: 'gelu' },
        // Both bases are one where one alone is told; without a window all layers see everything.
        ...{ global_rope_theta: 10_000, local_rope_theta: null, global_attn_every_n_layers: 1 },
      },
    },
  ],
])

/** What a file of an encoder may call its architecture. */
export const GGUF_ENCODERS: readonly string[] = [...FAMILIES.keys()].map(String)

/** Undefined where the file makes text. `config`: as `readConfig` gives it. */
export function vectorForm(place: string, config: JsonObject, template?: unknown): VectorForm | undefined {
  const { pooling_type: type, ...rest }: Record<string, unknown> = config
  const family = FAMILIES.get(config.model_type)
  const decision = takeDecision(place, rest, template)
  if (!family) {
    if (decision) return headedForm(place, rest, decision)
    const pool = POOLS[Number(type ?? 0)]
    // A decoder that scores has a tensor for it, by whose name it is refused.
    if (pool === undefined || pool === 'none') return undefined
    return { naming: 'gguf', config: rest, sentence: pooledBy(pool), rename: (tensor) => tensor }
  }
  const { fields, tensors, prefix, classes } = family
  const plain: Record<string, unknown> = { ...family.own }
  if ('attention.sliding_window' in rest) plain.global_attn_every_n_layers = 3
  if (rest['rope.scaling.type'] === 'none') delete rest['rope.scaling.type']
  for (const [key, value] of Object.entries({ ...rest, model_type: family.type }))
    plain[Object.hasOwn(fields, key) ? fields[key]! : key.replaceAll('.', '_')] = value
  const named = (tensor: string) => {
    const [pattern, name] = tensors.find(([each]) => each.test(tensor)) ?? [/^/, '']
    return tensor.replace(pattern, name)
  }
  if (decision) return decisionForm(plain, decision, named)
  // Positions count from zero, also where the model had them begin behind that of padding.
  const ranks = type === RANK
  if (ranks) {
    const labels = config['classifier.output_labels']
    plain.architectures = [`${classes}ForSequenceClassification`]
    plain.num_labels = Array.isArray(labels) ? labels.length : 1
    if (Array.isArray(labels)) plain.id2label = Object.fromEntries(labels.entries())
  }
  const pool = ranks ? undefined : POOLS[Number(type ?? 0)]
  if (!ranks && (pool === undefined || pool === 'none')) {
    const detail = `${String(config.model_type)}.pooling_type is ${String(type)}`
    throw broken(place, `it does not say how rows become a vector (${detail}).`)
  }
  return {
    naming: 'huggingface',
    config: plain,
    ...(pool && { sentence: pooledBy(pool) }),
    rename: (tensor) => (ranks && !family.head.test(tensor) ? `${prefix}${named(tensor)}` : named(tensor)),
  }
}

/** What sentence-transformers would have written. */
function pooledBy(pool: string): SentenceFiles {
  return {
    modules: [
      { type: 'Transformer', path: '', config: {} },
      { type: 'Pooling', path: '1_Pooling', config: { pooling_mode: pool } },
      { type: 'Normalize', path: '2_Normalize', config: {} },
    ],
    transformer: {},
    settings: {},
  }
}
