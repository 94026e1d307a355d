/** BERT, from "BERT: Pre-training of Deep Bidirectional Transformers" and the configuration that transformers gives it. */
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type GgufTensor, matrix, type TensorSpec, vector, type Weights } from '../family.js'
import { add, addTimes, dotOf, gelu, geluTanh, layerNorm, product, softmax, type Vector } from '../float64.js'
import { wide } from '../width.js'
import { type EncoderCase, type Input, unit } from './encoder-case.js'

export interface BertShape {
  readonly vocab: number
  readonly hidden: number
  readonly inner: number
  readonly layers: number
  readonly heads: number
  readonly positions: number
  readonly types: number
  readonly epsilon: number
}

/** Heads of 32, as all-MiniLM, bge-small and arctic-embed-s have. */
const SHAPE: BertShape = {
  vocab: 640,
  hidden: wide(192, 256),
  inner: wide(416, 512),
  layers: 3,
  heads: wide(6, 4),
  positions: 96,
  types: 2,
  epsilon: 1e-12,
}

/** [CLS] and [SEP], where the made-up words of llama.cpp's tokenizer leave room. */
export const CLS = 4
export const SEP = 5
export const PAD = 3

export const bertConfig = (shape: BertShape) => ({
  model_type: 'bert',
  architectures: ['BertModel'],
  vocab_size: shape.vocab,
  hidden_size: shape.hidden,
  intermediate_size: shape.inner,
  num_hidden_layers: shape.layers,
  num_attention_heads: shape.heads,
  max_position_embeddings: shape.positions,
  type_vocab_size: shape.types,
  layer_norm_eps: shape.epsilon,
  hidden_act: 'gelu',
  hidden_dropout_prob: 0.1,
  attention_probs_dropout_prob: 0.1,
  initializer_range: 0.02,
  pad_token_id: PAD,
  position_embedding_type: 'absolute',
  gradient_checkpointing: false,
  classifier_dropout: null,
  use_cache: true,
  torch_dtype: 'float32',
})

const dense = (name: string, rows: number, columns: number, gain = 1): TensorSpec[] => [
  matrix(`${name}.weight`, rows, columns, gain),
  vector(`${name}.bias`, rows, 0, 0.1),
]
const normOf = (name: string, size: number): TensorSpec[] => [
  vector(`${name}.weight`, size, 1, 0.2),
  vector(`${name}.bias`, size, 0, 0.2),
]

export function bertTensors({ vocab, hidden, inner, layers, positions, types }: BertShape, prefix = ''): TensorSpec[] {
  const list = [
    vector(`${prefix}embeddings.word_embeddings.weight`, vocab * hidden, 0, 0.5),
    vector(`${prefix}embeddings.position_embeddings.weight`, positions * hidden, 0, 0.3),
    vector(`${prefix}embeddings.token_type_embeddings.weight`, types * hidden, 0, 0.3),
    ...normOf(`${prefix}embeddings.LayerNorm`, hidden),
    ...dense(`${prefix}pooler.dense`, hidden, hidden),
  ].map((spec) => shaped(spec, hidden))
  for (let i = 0; i < layers; i++) {
    const at = `${prefix}encoder.layer.${i}`
    list.push(
      ...dense(`${at}.attention.self.query`, hidden, hidden, 1.5),
      ...dense(`${at}.attention.self.key`, hidden, hidden, 1.5),
      ...dense(`${at}.attention.self.value`, hidden, hidden),
      ...dense(`${at}.attention.output.dense`, hidden, hidden),
      ...normOf(`${at}.attention.output.LayerNorm`, hidden),
      ...dense(`${at}.intermediate.dense`, inner, hidden, 1.5),
      ...dense(`${at}.output.dense`, hidden, inner),
      ...normOf(`${at}.output.LayerNorm`, hidden),
    )
  }
  return list
}

/** Tables are matrices whose deviation does not hang on their width. */
const shaped = (spec: TensorSpec, hidden: number): TensorSpec =>
  /_embeddings\.weight$/.test(spec.name) ? { ...spec, shape: [spec.shape[0]! / hidden, hidden] } : spec

/** The last layer's rows, one for each token. */
export function bertRows(
  shape: BertShape,
  weights: Weights,
  { tokens, types = [] }: Input,
  { mistake, prefix = '', firstPosition = 0 }: { mistake?: string; prefix?: string; firstPosition?: number } = {},
): Vector[] {
  const { hidden, heads, layers, epsilon } = shape
  const of = (name: string) => weights(`${prefix}${name}`)
  const row = (name: string, index: number) => of(name).slice(index * hidden, (index + 1) * hidden)
  const norm = (x: Vector, name: string) =>
    layerNorm(
      x,
      of(`${name}.weight`),
      mistake === 'forgets the bias of norms' ? undefined : of(`${name}.bias`),
      epsilon,
    )
  const through = (x: Vector, name: string) => product(of(`${name}.weight`), x, of(`${name}.bias`))
  const shift = mistake === 'begins positions at one' ? 1 : 0
  const act = mistake === 'takes the gelu of tanh' ? geluTanh : gelu
  let rows = tokens.map((token, i) => {
    let x = add(
      row('embeddings.word_embeddings.weight', token),
      row('embeddings.position_embeddings.weight', firstPosition + i + shift),
    )
    if (mistake !== 'forgets the token type') x = add(x, row('embeddings.token_type_embeddings.weight', types[i] ?? 0))
    return mistake === 'forgets the norm of embeddings' ? x : norm(x, 'embeddings.LayerNorm')
  })
  const size = hidden / heads
  for (let i = 0; i < layers; i++) {
    const at = `encoder.layer.${i}`
    const [q, k, v] = ['query', 'key', 'value'].map((name) =>
      rows.map((x) => through(x, `${at}.attention.self.${name}`)),
    ) as [Vector[], Vector[], Vector[]]
    rows = rows.map((x, position) => {
      const seen = new Float64Array(hidden)
      const last = mistake === 'sees no later token' ? position : rows.length - 1
      for (let head = 0; head < heads; head++) {
        const from = head * size
        const scores = k.slice(0, last + 1).map((key) => dotOf(q[position]!, from, key, from, size))
        const shares = softmax(scores.map((score) => score / Math.sqrt(size)))
        shares.forEach((share, at) => {
          addTimes(seen, from, share, v[at]!, from, size)
        })
      }
      const mixed = norm(add(x, through(seen, `${at}.attention.output.dense`)), `${at}.attention.output.LayerNorm`)
      const inner = through(mixed, `${at}.intermediate.dense`).map(act)
      const after = through(inner, `${at}.output.dense`)
      if (mistake === 'norms before it adds') return add(mixed, norm(after, `${at}.output.LayerNorm`))
      return norm(add(mixed, after), `${at}.output.LayerNorm`)
    })
  }
  return rows
}

export function mean(rows: readonly Vector[]): Vector {
  const sum = rows.reduce((total, row) => add(total, row))
  return sum.map((value) => value / rows.length)
}

const PADDED = 7

export function pooled(rows: readonly Vector[], how: 'mean' | 'cls', mistake?: string): Vector {
  const wanted = mistake === 'pools the other way' ? (how === 'mean' ? 'cls' : 'mean') : how
  if (wanted === 'cls') return unit(rows[0]!)
  // What is beyond the text counts as much as the text.
  const padding = mistake === 'pools padding too' ? Array.from({ length: PADDED }, () => rows.at(-1)!) : []
  const kept = mistake === 'leaves out the marks' ? rows.slice(1, -1) : rows
  return unit(mean([...kept, ...padding]))
}

const MODULES = 'sentence_transformers.models'

/** The files of sentence-transformers. */
export function sentenceFiles(how: 'mean' | 'cls' | 'last', hidden: number, most?: number) {
  return {
    'modules.json': [
      { idx: 0, name: '0', path: '', type: `${MODULES}.Transformer` },
      { idx: 1, name: '1', path: '1_Pooling', type: `${MODULES}.Pooling` },
      { idx: 2, name: '2', path: '2_Normalize', type: `${MODULES}.Normalize` },
    ],
    '1_Pooling/config.json': {
      word_embedding_dimension: hidden,
      pooling_mode_cls_token: how === 'cls',
      pooling_mode_mean_tokens: how === 'mean',
      pooling_mode_max_tokens: false,
      pooling_mode_mean_sqrt_len_tokens: false,
      pooling_mode_weightedmean_tokens: false,
      pooling_mode_lasttoken: how === 'last',
      include_prompt: true,
    },
    'config_sentence_transformers.json': { prompts: {}, default_prompt_name: null, similarity_fn_name: 'cosine' },
    ...(most !== undefined && { 'sentence_bert_config.json': { max_seq_length: most, do_lower_case: false } }),
  }
}

/** `type`: llama.cpp's number of the way to pool. */
export function bertGguf(shape: BertShape, type: number): NonNullable<EncoderCase['gguf']> {
  return {
    architecture: 'bert',
    metadata(out) {
      const u32 = (name: string, value: number) => out.u32(`bert.${name}`, value)
      u32('context_length', shape.positions)
      u32('embedding_length', shape.hidden)
      u32('block_count', shape.layers)
      u32('feed_forward_length', shape.inner)
      u32('attention.head_count', shape.heads)
      out.float('bert.attention.layer_norm_epsilon', shape.epsilon)
      out.flag('bert.attention.causal', false)
      u32('pooling_type', type)
    },
    tensors: (weights) => bertGgufTensors(shape, weights),
    words: (out) => addPieces(out, shape.vocab, shape.types),
  }
}

export function bertGgufTensors(shape: BertShape, weights: Weights, prefix = ''): GgufTensor[] {
  const { hidden, inner, vocab, positions, types, layers } = shape
  const list: GgufTensor[] = []
  const put = (name: string, from: string, ...dims: number[]) =>
    list.push({ name, dims, values: weights(`${prefix}${from}`) })
  const both = (name: string, from: string, rows: number, columns?: number) => {
    put(`${name}.weight`, `${from}.weight`, ...(columns === undefined ? [rows] : [columns, rows]))
    put(`${name}.bias`, `${from}.bias`, rows)
  }
  put('token_embd.weight', 'embeddings.word_embeddings.weight', hidden, vocab)
  put('position_embd.weight', 'embeddings.position_embeddings.weight', hidden, positions)
  put('token_types.weight', 'embeddings.token_type_embeddings.weight', hidden, types)
  both('token_embd_norm', 'embeddings.LayerNorm', hidden)
  for (let i = 0; i < layers; i++) {
    const [to, at] = [`blk.${i}`, `encoder.layer.${i}`]
    both(`${to}.attn_q`, `${at}.attention.self.query`, hidden, hidden)
    both(`${to}.attn_k`, `${at}.attention.self.key`, hidden, hidden)
    both(`${to}.attn_v`, `${at}.attention.self.value`, hidden, hidden)
    both(`${to}.attn_output`, `${at}.attention.output.dense`, hidden, hidden)
    both(`${to}.attn_output_norm`, `${at}.attention.output.LayerNorm`, hidden)
    both(`${to}.ffn_up`, `${at}.intermediate.dense`, inner, hidden)
    both(`${to}.ffn_down`, `${at}.output.dense`, hidden, inner)
    both(`${to}.layer_output_norm`, `${at}.output.LayerNorm`, hidden)
  }
  return list
}

/** The first tokens of the vocabulary. */
export const MARKS = ['[unused0]', '[UNK]', '[MASK]', '[PAD]', '[CLS]', '[SEP]']

/** WordPiece as llama.cpp reads it. */
export function addPieces(out: Metadata, size: number, types: number): void {
  out.text('tokenizer.ggml.model', 'bert')
  out.texts(
    'tokenizer.ggml.tokens',
    Array.from({ length: size }, (_, i) => MARKS[i] ?? `▁w${i}`),
  )
  out.floats('tokenizer.ggml.scores', new Float32Array(size))
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from({ length: size }, (_, i) => (i < MARKS.length ? 3 : 1)),
  )
  out.u32('tokenizer.ggml.token_type_count', types)
  for (const [name, id] of Object.entries({ unknown: 1, mask: 2, padding: PAD, cls: CLS, bos: CLS, seperator: SEP }))
    out.u32(`tokenizer.ggml.${name}_token_id`, id)
  out.u32('tokenizer.ggml.eos_token_id', SEP)
}

const MISTAKES = [
  'takes the gelu of tanh',
  'forgets the token type',
  'begins positions at one',
  'sees no later token',
  'forgets the bias of norms',
  'forgets the norm of embeddings',
  'norms before it adds',
  'pools the other way',
]

const LENGTHS = [1, 5, 19, 40, 90]

const common = {
  config: bertConfig(SHAPE),
  tensors: bertTensors(SHAPE),
  around: { begin: [CLS], end: [SEP] },
  lengths: LENGTHS,
}

/** all-MiniLM: the mean of all tokens, the marks among them. */
export const minilm: EncoderCase = {
  ...common,
  name: 'bert by mean',
  files: sentenceFiles('mean', SHAPE.hidden, 92),
  reference: (weights, input, mistake) => pooled(bertRows(SHAPE, weights, input, { mistake }), 'mean', mistake),
  mistakes: [...MISTAKES, 'pools padding too', 'leaves out the marks'],
  gguf: bertGguf(SHAPE, 1),
}

/** bge and arctic-embed: the first token. */
export const bge: EncoderCase = {
  ...common,
  name: 'bert by its first token',
  files: sentenceFiles('cls', SHAPE.hidden),
  reference: (weights, input, mistake) => pooled(bertRows(SHAPE, weights, input, { mistake }), 'cls', mistake),
  mistakes: MISTAKES,
  gguf: bertGguf(SHAPE, 2),
}
