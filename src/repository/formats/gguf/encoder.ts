/**
 * GGUF files of models that make vectors, in the words of transformers and sentence-transformers: from here on they are
 * read as those are.
 */
import type { JsonObject } from '../../../platform/json.js'
import { broken } from '../../failure.js'
import type { SentenceFiles } from '../../sentence.js'
import type { Naming } from '../../source.js'

export interface VectorForm {
  readonly naming: Naming
  readonly config: JsonObject
  readonly sentence?: SentenceFiles
  rename(tensor: string): string
}

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

/** Undefined where the file makes text. `config`: as `readConfig` gives it. */
export function vectorForm(place: string, config: JsonObject): VectorForm | undefined {
  const { pooling_type: type, ...rest } = config
  if (config.model_type !== 'bert') {
    const pool = POOLS[Number(type ?? 0)]
    // A decoder that scores has a tensor for it, by whose name it is refused.
    if (pool === undefined || pool === 'none') return undefined
    return { naming: 'gguf', config: rest, sentence: pooledBy(pool), rename: (tensor) => tensor }
  }
  const plain: Record<string, unknown> = { hidden_act: 'gelu' }
  for (const [key, value] of Object.entries(rest))
    plain[Object.hasOwn(FIELDS, key) ? FIELDS[key]! : key.replaceAll('.', '_')] = value
  // Positions count from zero, also where the model had them begin behind that of padding.
  const ranks = type === RANK
  if (ranks) {
    const labels = config['classifier.output_labels']
    plain.architectures = ['BertForSequenceClassification']
    plain.num_labels = Array.isArray(labels) ? labels.length : 1
  }
  const pool = ranks ? undefined : POOLS[Number(type ?? 0)]
  if (!ranks && (pool === undefined || pool === 'none')) {
    throw broken(place, `it does not say how rows become a vector (bert.pooling_type is ${String(type)}).`)
  }
  const named = (tensor: string) => {
    const [pattern, name] = TENSORS.find(([each]) => each.test(tensor)) ?? [/^/, '']
    return tensor.replace(pattern, name)
  }
  return {
    naming: 'huggingface',
    config: plain,
    ...(pool && { sentence: pooledBy(pool) }),
    rename: (tensor) => (ranks && !tensor.startsWith('cls.output.') ? `bert.${named(tensor)}` : named(tensor)),
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
