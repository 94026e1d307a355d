import { isRecord, type JsonObject } from '../../platform/index.js'
import { Fields } from '../architectures/fields.js'
import type { WeightOutline } from '../files/source.js'
import { refuse } from '../refuse.js'
import { classCount } from './read-vectors.js'
import type { DensePlan, EncoderPlan, VectorPlan } from './vector-plan.js'

/** BERT, and RoBERTa in the form that XLM-R has. */
export const ENCODERS: ReadonlyMap<string, { readonly prefix: string; readonly roberta: boolean }> = new Map([
  ['bert', { prefix: 'bert.', roberta: false }],
  ['roberta', { prefix: 'roberta.', roberta: true }],
  ['xlm-roberta', { prefix: 'roberta.', roberta: true }],
])

/** Tensors that files carry along and that no vector needs: a head that guesses words, a pooler that nobody asks. */
export const IDLE = /(^|\.)(position_ids|token_type_ids)$|^(cls|lm_head)\./
export const POOLER = /(^|\.)pooler\.dense\.(weight|bias)$/

const ACTIVATIONS = {
  gelu: 'gelu_erf',
  gelu_python: 'gelu_erf',
  gelu_new: 'gelu',
  gelu_pytorch_tanh: 'gelu',
  relu: 'relu',
  silu: 'silu',
} as const

export const isBert = ({ chatConfig }: Pick<WeightOutline, 'chatConfig'>): boolean =>
  ENCODERS.has(String(chatConfig.model_type))

/** Refuses by name what it does not know. */
export function readEncoder(config: WeightOutline['chatConfig'], name: string): EncoderPlan {
  const architecture = String(config.model_type)
  const { roberta } = ENCODERS.get(architecture)!
  const fields = new Fields(name, plainOf(config))
  const hidden = fields.count('hidden_size')
  const heads = fields.count('num_attention_heads')
  if (hidden % (4 * heads) !== 0 || hidden % 8 !== 0) throw refuse(name, `${heads} heads over ${hidden} values`)
  fields.word('position_embedding_type', ['absolute'], 'absolute')
  if (fields.flag('is_decoder')) throw fields.odd('is_decoder', true)
  const activation = fields.word('hidden_act', Object.keys(ACTIVATIONS) as (keyof typeof ACTIVATIONS)[], 'gelu')
  // Positions are counted from the one after that of padding.
  const offset = fields.limit('position_offset') ?? 0
  const firstPosition = roberta ? Number(fields.get('pad_token_id') ?? 1) + 1 : offset
  const plan: EncoderPlan = {
    architecture,
    hidden,
    heads,
    vocabulary: fields.count('vocab_size'),
    layers: fields.count('num_hidden_layers'),
    intermediate: fields.count('intermediate_size'),
    gate: ACTIVATIONS[activation],
    epsilon: fields.number('layer_norm_eps', 1e-12),
    positions: fields.count('max_position_embeddings'),
    firstPosition,
    types: fields.count('type_vocab_size', 2),
  }
  fields.assertAllRead()
  return plan
}

/** As transformers would write it. */
function plainOf(config: JsonObject): JsonObject {
  if (!isRecord(config.model_config)) return config
  const { context_window_size: max_position_embeddings, ...own } = config.model_config
  return { max_position_embeddings, ...own }
}

/** The head of a cross-encoder or a classifier: the first row through one layer more, then a number for each class. */
export function readScores(config: WeightOutline['chatConfig'], plan: EncoderPlan, name: string): VectorPlan {
  const { prefix, roberta } = ENCODERS.get(plan.architecture)!
  const classes = classCount(config, name)
  const dense = (tensors: string, rows: number, tanh: boolean): DensePlan => {
    return { name: tensors, rows, columns: plan.hidden, bias: true, tanh }
  }
  return {
    pool: 'first',
    dense: roberta
      ? [dense('classifier.dense', plan.hidden, true), dense('classifier.out_proj', classes, false)]
      : [dense(`${prefix}pooler.dense`, plan.hidden, true), dense('classifier', classes, false)],
    size: classes,
    most: plan.positions - plan.firstPosition,
  }
}
