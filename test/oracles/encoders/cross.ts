/** Cross-encoders: query and document in one input, the first row through one layer more, one score; classifiers: a text, and several. */
import { type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import { gelu, layerNorm, product, type Vector } from '../float64.js'
import { type BertShape, bertConfig, bertGguf, bertGgufTensors, bertRows, bertTensors, CLS, mean, SEP } from './bert.js'
import { qwen3Reranker, RANK } from './decoders.js'
import { type EncoderCase, type Input, inputsOf } from './encoder-case.js'
import {
  SHAPE as MODERN,
  modernConfig,
  modernGguf,
  modernGgufTensors,
  modernRows,
  modernTensors,
} from './modern-bert.js'

const SHAPE: BertShape = {
  vocab: 640,
  hidden: 192,
  inner: 416,
  layers: 2,
  heads: 6,
  positions: 96,
  types: 2,
  epsilon: 1e-12,
}
/** RoBERTa counts its positions from the one after that of padding. */
const FIRST_POSITION = 4
const ROBERTA = { ...SHAPE, positions: SHAPE.positions + FIRST_POSITION, types: 1, epsilon: 1e-5 }

/** A model that scores pairs. */
export interface CrossCase extends EncoderCase {
  readonly pairs: readonly Input[]
  /** What llama.cpp gets wrong with it: it is compared with that. */
  readonly peerMistake?: string
}

const dense = (name: string, rows: number, columns: number, gain = 1): TensorSpec[] => [
  matrix(`${name}.weight`, rows, columns, gain),
  vector(`${name}.bias`, rows, 0, 0.3),
]
const through = (weights: Weights, name: string, x: Vector) =>
  product(weights(`${name}.weight`), x, weights(`${name}.bias`))

interface Head {
  readonly prefix: string
  /** The layer before the score, and the score. */
  readonly dense: string
  readonly score: string
  /** Rows of positions that no token has. */
  readonly unused: number
  /** Of what the scores are. @default one, which has no name */
  readonly labels?: readonly string[]
}

/** As llama.cpp takes it: positions from the first that is used, and the head under its own names. */
function gguf(shape: BertShape, { prefix, dense, score, unused, labels }: Head): NonNullable<EncoderCase['gguf']> {
  const { hidden } = shape
  const used = { ...shape, positions: shape.positions - unused }
  const plain = bertGguf(used, RANK)
  return {
    ...plain,
    metadata(out) {
      plain.metadata(out)
      if (labels) out.texts('bert.classifier.output_labels', [...labels])
    },
    tensors(weights) {
      const trimmed: Weights = (name) =>
        name.endsWith('position_embeddings.weight') ? weights(name).slice(unused * hidden) : weights(name)
      const put = (name: string, from: string, ...dims: number[]): GgufTensor => ({ name, dims, values: weights(from) })
      return [
        ...bertGgufTensors(used, trimmed, prefix),
        put('cls.weight', `${dense}.weight`, hidden, hidden),
        put('cls.bias', `${dense}.bias`, hidden),
        put('cls.output.weight', `${score}.weight`, hidden, labels?.length ?? 1),
        put('cls.output.bias', `${score}.bias`, labels?.length ?? 1),
      ]
    },
  }
}

/** Two texts of each other's lengths. */
function pairsOf(of: EncoderCase, between: readonly number[], secondType: number): Input[] {
  const texts = inputsOf({ ...of, around: { begin: [], end: [] } }).map(({ tokens }) => tokens)
  return texts.map((first, i) => {
    const second = texts.at(-1 - i)!
    const begin = [CLS, ...first, ...between]
    const end = [...second, SEP]
    return { tokens: [...begin, ...end], types: [...begin.map(() => 0), ...end.map(() => secondType)] }
  })
}

const bertCross: EncoderCase = {
  name: 'bert that scores',
  config: {
    ...bertConfig(SHAPE),
    architectures: ['BertForSequenceClassification'],
    id2label: { 0: 'LABEL_0' },
    label2id: { LABEL_0: 0 },
  },
  files: {},
  tensors: [...bertTensors(SHAPE, 'bert.'), ...dense('classifier', 1, SHAPE.hidden, 2)],
  around: { begin: [CLS], end: [SEP] },
  lengths: [1, 5, 19, 40],
  reference(weights, input, mistake) {
    const { types: _, ...single } = input
    const given = mistake === 'takes both texts for the first' ? single : input
    const rows = bertRows(SHAPE, weights, given, { prefix: 'bert.' })
    const pooled = mistake === 'takes the mean' ? mean(rows) : rows[0]!
    const inner = through(weights, 'bert.pooler.dense', pooled)
    return through(weights, 'classifier', mistake === 'forgets tanh' ? inner : inner.map(Math.tanh))
  },
  mistakes: ['takes both texts for the first', 'takes the mean', 'forgets tanh'],
  gguf: gguf(SHAPE, { prefix: 'bert.', dense: 'bert.pooler.dense', score: 'classifier', unused: 0 }),
}

const robertaCross: EncoderCase = {
  name: 'xlm-roberta that scores',
  config: {
    ...bertConfig(ROBERTA),
    model_type: 'xlm-roberta',
    architectures: ['XLMRobertaForSequenceClassification'],
    id2label: { 0: 'LABEL_0' },
  },
  files: {},
  tensors: [
    ...bertTensors(ROBERTA, 'roberta.').filter(({ name }) => !name.includes('pooler')),
    ...dense('classifier.dense', ROBERTA.hidden, ROBERTA.hidden),
    ...dense('classifier.out_proj', 1, ROBERTA.hidden, 2),
  ],
  around: { begin: [CLS], end: [SEP] },
  lengths: [1, 5, 19, 40],
  reference(weights, input, mistake) {
    const firstPosition = mistake === 'counts positions from zero' ? 0 : FIRST_POSITION
    const rows = bertRows(ROBERTA, weights, input, { prefix: 'roberta.', firstPosition })
    const inner = through(weights, 'classifier.dense', rows[0]!)
    return through(weights, 'classifier.out_proj', mistake === 'forgets tanh' ? inner : inner.map(Math.tanh))
  },
  mistakes: ['counts positions from zero', 'forgets tanh'],
  gguf: gguf(ROBERTA, {
    prefix: 'roberta.',
    dense: 'classifier.dense',
    score: 'classifier.out_proj',
    unused: FIRST_POSITION,
  }),
}

/** gte-reranker-modernbert: the mean of the rows through a layer and a norm more. */
const modernCross: EncoderCase = {
  name: 'modernbert that scores',
  config: {
    ...modernConfig(MODERN),
    architectures: ['ModernBertForSequenceClassification'],
    id2label: { 0: 'LABEL_0' },
  },
  files: {},
  tensors: [
    ...modernTensors(MODERN, 'model.'),
    matrix('head.dense.weight', MODERN.hidden, MODERN.hidden, 1.5),
    norm('head.norm.weight', MODERN.hidden),
    ...dense('classifier', 1, MODERN.hidden, 1),
  ],
  around: { begin: [CLS], end: [SEP] },
  lengths: [1, 5, 19, 40],
  reference(weights, input, mistake) {
    const rows = modernRows(MODERN, weights, input, { prefix: 'model.' })
    const pooled = mistake === 'takes the first' ? rows[0]! : mean(rows)
    const inner = product(weights('head.dense.weight'), pooled)
    const act = mistake === 'takes tanh for the gelu' ? Math.tanh : gelu
    const gated = mistake === 'forgets the gelu' ? inner : inner.map(act)
    const normed = layerNorm(gated, weights('head.norm.weight'), undefined, MODERN.epsilon)
    return through(weights, 'classifier', mistake === 'forgets the norm' ? gated : normed)
  },
  mistakes: ['takes the first', 'takes tanh for the gelu', 'forgets the gelu', 'forgets the norm'],
  gguf: {
    ...modernGguf(MODERN, RANK),
    tensors: (weights) => {
      const put = (name: string, from: string, ...dims: number[]): GgufTensor => ({ name, dims, values: weights(from) })
      const { hidden } = MODERN
      return [
        ...modernGgufTensors(MODERN, weights, 'model.'),
        put('cls.weight', 'head.dense.weight', hidden, hidden),
        put('cls.norm.weight', 'head.norm.weight', hidden),
        put('cls.output.weight', 'classifier.weight', hidden, 1),
        put('cls.output.bias', 'classifier.bias', 1),
      ]
    },
  },
}

export const bertScores: CrossCase = {
  ...bertCross,
  pairs: pairsOf(bertCross, [SEP], 1),
  // Its types are all that of a first text.
  peerMistake: 'takes both texts for the first',
}
export const robertaScores: CrossCase = { ...robertaCross, pairs: pairsOf(robertaCross, [SEP, SEP], 0) }
export const modernScores: CrossCase = { ...modernCross, pairs: pairsOf(modernCross, [SEP], 0) }

const FEELINGS = ['joy', 'anger', 'fear']
const bertFeels: EncoderCase = {
  ...bertCross,
  name: 'bert that classifies',
  config: {
    ...bertCross.config,
    id2label: Object.fromEntries(FEELINGS.entries()),
    label2id: Object.fromEntries(FEELINGS.map((name, i) => [name, i])),
  },
  tensors: [...bertTensors(SHAPE, 'bert.'), ...dense('classifier', FEELINGS.length, SHAPE.hidden, 2)],
  gguf: gguf(SHAPE, {
    ...{ prefix: 'bert.', dense: 'bert.pooler.dense', score: 'classifier', unused: 0 },
    labels: FEELINGS,
  }),
}
const modernTags: EncoderCase = {
  ...modernCross,
  name: 'modernbert that tags',
  config: { ...modernCross.config, id2label: undefined, num_labels: 5, problem_type: 'multi_label_classification' },
  tensors: [
    ...modernCross.tensors.filter(({ name }) => !name.startsWith('classifier.')),
    ...dense('classifier', 5, MODERN.hidden, 1),
  ],
}
/** Models that say of a text to which of their classes it belongs. */
export const bertClasses: CrossCase = { ...bertFeels, pairs: inputsOf(bertFeels) }
export const modernClasses: CrossCase = { ...modernTags, pairs: inputsOf(modernTags) }

export const CROSS_ENCODERS: readonly CrossCase[] = [bertScores, robertaScores, modernScores]

/** Qwen3-Reranker is no cross-encoder by its files, but scores as one does. */
export const RERANKERS: readonly CrossCase[] = [...CROSS_ENCODERS, { ...qwen3Reranker, pairs: inputsOf(qwen3Reranker) }]
