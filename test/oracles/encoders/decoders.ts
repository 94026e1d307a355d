/**
 * Decoders of which vectors are made: Qwen3-Embedding (the last token's row) and EmbeddingGemma (every token sees all, the
 * mean, two products), from transformers' models and the configurations that their makers published.
 */
import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type GgufTensor, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import {
  add,
  addTimes,
  both,
  dotOf,
  frequencies,
  geluTanh,
  normHeads,
  product,
  rmsNorm,
  rotate,
  silu,
  softmax,
  times,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { mean, sentenceFiles } from './bert.js'
import { type EncoderCase, type Input, unit } from './encoder-case.js'

interface Shape {
  readonly vocab: number
  readonly hidden: number
  readonly inner: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly epsilon: number
}

interface Form {
  /** The last position that one sees, of so many. */
  last(position: number, count: number, layer: number): number
  first(position: number, layer: number): number
  theta(layer: number): number
  readonly scale: number
  /** Added to the weights of norms. */
  readonly plus: number
  /** Norms stand after attention and MLP too. */
  readonly after: boolean
  readonly act: (x: number) => number
  readonly embeddingScale: number
}

/** The rows of the last layer after the last norm. */
function rowsOf(shape: Shape, weights: Weights, { tokens }: Input, form: Form): Vector[] {
  const { hidden, heads, keyHeads, headSize, layers, epsilon } = shape
  const { plus, after } = form
  let rows = tokens.map((token) =>
    times(weights('embed_tokens.weight').slice(token * hidden, (token + 1) * hidden), form.embeddingScale),
  )
  for (let i = 0; i < layers; i++) {
    const of = (name: string) => weights(`layers.${i}.${name}.weight`)
    const normed = (x: Vector, name: string) => rmsNorm(x, of(name), epsilon, plus)
    const before = rows.map((x) => normed(x, 'input_layernorm'))
    const angles = frequencies(form.theta(i), headSize)
    const turned = (name: string) =>
      before.map((x, position) =>
        rotate(
          normHeads(product(of(`self_attn.${name}_proj`), x), headSize, of(`self_attn.${name}_norm`), epsilon, plus),
          headSize,
          position,
          angles,
        ),
      )
    const [q, k] = [turned('q'), turned('k')]
    const v = before.map((x) => product(of('self_attn.v_proj'), x))
    rows = rows.map((x, position) => {
      const seen = new Float64Array(heads * headSize)
      const first = form.first(position, i)
      const last = form.last(position, rows.length, i)
      for (let head = 0; head < heads; head++) {
        const from = head * headSize
        const shared = Math.floor((head * keyHeads) / heads) * headSize
        const scores = k
          .slice(first, last + 1)
          .map((key) => dotOf(q[position]!, from, key, shared, headSize) * form.scale)
        softmax(scores).forEach((share, at) => {
          addTimes(seen, from, share, v[first + at]!, shared, headSize)
        })
      }
      const mixed = product(of('self_attn.o_proj'), seen)
      const y = add(x, after ? normed(mixed, 'post_attention_layernorm') : mixed)
      const inner = normed(y, after ? 'pre_feedforward_layernorm' : 'post_attention_layernorm')
      const gate = product(of('mlp.gate_proj'), inner).map(form.act)
      const out = product(of('mlp.down_proj'), both(gate, product(of('mlp.up_proj'), inner)))
      return add(y, after ? normed(out, 'post_feedforward_layernorm') : out)
    })
  }
  return rows.map((x) => rmsNorm(x, weights('norm.weight'), epsilon, plus))
}

/** As they lie in a file that was saved without its head: no `model.` stands before them. */
function tensorsOf(shape: Shape, mean: number, after: boolean, embedding: number): TensorSpec[] {
  const { vocab, hidden, inner, layers, heads, keyHeads, headSize } = shape
  const list: TensorSpec[] = [
    { name: 'embed_tokens.weight', shape: [vocab, hidden], deviation: embedding },
    norm('norm.weight', hidden, mean),
  ]
  for (let i = 0; i < layers; i++) {
    const at = `layers.${i}`
    const extra = after ? ['pre_feedforward_layernorm', 'post_feedforward_layernorm'] : []
    for (const name of ['input_layernorm', 'post_attention_layernorm', ...extra]) {
      list.push(norm(`${at}.${name}.weight`, hidden, mean))
    }
    for (const one of ['q', 'k']) list.push(norm(`${at}.self_attn.${one}_norm.weight`, headSize, mean))
    list.push(
      matrix(`${at}.self_attn.q_proj.weight`, heads * headSize, hidden, 1.5),
      matrix(`${at}.self_attn.k_proj.weight`, keyHeads * headSize, hidden, 1.5),
      matrix(`${at}.self_attn.v_proj.weight`, keyHeads * headSize, hidden),
      matrix(`${at}.self_attn.o_proj.weight`, hidden, heads * headSize),
      matrix(`${at}.mlp.gate_proj.weight`, inner, hidden),
      matrix(`${at}.mlp.up_proj.weight`, inner, hidden),
      matrix(`${at}.mlp.down_proj.weight`, hidden, inner),
    )
  }
  return list
}

const configOf = (shape: Shape) => ({
  vocab_size: shape.vocab,
  hidden_size: shape.hidden,
  intermediate_size: shape.inner,
  num_hidden_layers: shape.layers,
  num_attention_heads: shape.heads,
  num_key_value_heads: shape.keyHeads,
  head_dim: shape.headSize,
  rms_norm_eps: shape.epsilon,
  max_position_embeddings: 512,
  tie_word_embeddings: true,
  attention_bias: false,
})

function metadata(out: Metadata, architecture: string, shape: Shape, theta: number, pooling: number): void {
  const u32 = (name: string, value: number) => out.u32(`${architecture}.${name}`, value)
  u32('context_length', 512)
  u32('embedding_length', shape.hidden)
  u32('block_count', shape.layers)
  u32('feed_forward_length', shape.inner)
  u32('attention.head_count', shape.heads)
  u32('attention.head_count_kv', shape.keyHeads)
  u32('attention.key_length', shape.headSize)
  u32('attention.value_length', shape.headSize)
  u32('rope.dimension_count', shape.headSize)
  out.float(`${architecture}.rope.freq_base`, theta)
  out.float(`${architecture}.attention.layer_norm_rms_epsilon`, shape.epsilon)
  u32('pooling_type', pooling)
}

/** `grown`: the one that is added to a norm's weight is in it there. */
function ggufTensors(shape: Shape, weights: Weights, after: boolean): GgufTensor[] {
  const { vocab, hidden, inner, layers, heads, keyHeads, headSize } = shape
  const list: GgufTensor[] = []
  const put = (name: string, from: string, ...dims: number[]) => {
    const values = weights(`${from}.weight`)
    const grown = after && /norm/.test(from) ? values.map((value) => value + 1) : values
    list.push({ name: `${name}.weight`, dims, values: grown })
  }
  put('token_embd', 'embed_tokens', hidden, vocab)
  put('output_norm', 'norm', hidden)
  for (let i = 0; i < layers; i++) {
    const [to, at] = [`blk.${i}`, `layers.${i}`]
    put(`${to}.attn_norm`, `${at}.input_layernorm`, hidden)
    put(`${to}.ffn_norm`, `${at}.${after ? 'pre_feedforward' : 'post_attention'}_layernorm`, hidden)
    if (after) put(`${to}.post_attention_norm`, `${at}.post_attention_layernorm`, hidden)
    if (after) put(`${to}.post_ffw_norm`, `${at}.post_feedforward_layernorm`, hidden)
    put(`${to}.attn_q_norm`, `${at}.self_attn.q_norm`, headSize)
    put(`${to}.attn_k_norm`, `${at}.self_attn.k_norm`, headSize)
    put(`${to}.attn_q`, `${at}.self_attn.q_proj`, hidden, heads * headSize)
    put(`${to}.attn_k`, `${at}.self_attn.k_proj`, hidden, keyHeads * headSize)
    put(`${to}.attn_v`, `${at}.self_attn.v_proj`, hidden, keyHeads * headSize)
    put(`${to}.attn_output`, `${at}.self_attn.o_proj`, heads * headSize, hidden)
    put(`${to}.ffn_gate`, `${at}.mlp.gate_proj`, hidden, inner)
    put(`${to}.ffn_up`, `${at}.mlp.up_proj`, hidden, inner)
    put(`${to}.ffn_down`, `${at}.mlp.down_proj`, inner, hidden)
  }
  return list
}

const QWEN: Shape = {
  vocab: 640,
  hidden: wide(192, 256),
  inner: 416,
  layers: 3,
  heads: 4,
  keyHeads: 2,
  headSize: 64,
  epsilon: 1e-6,
}
const QWEN_THETA = 1_000_000
const QWEN_FORM: Form = {
  last: (position) => position,
  first: () => 0,
  theta: () => QWEN_THETA,
  scale: QWEN.headSize ** -0.5,
  plus: 0,
  after: false,
  act: silu,
  embeddingScale: 1,
}
/** `<|endoftext|>`, which its tokenizer appends. */
export const END = 2

export const qwen3Embedding: EncoderCase = {
  name: 'qwen3 embedding',
  config: {
    ...configOf(QWEN),
    model_type: 'qwen3',
    architectures: ['Qwen3ForCausalLM'],
    rope_theta: QWEN_THETA,
    rope_scaling: null,
    hidden_act: 'silu',
    use_sliding_window: false,
    sliding_window: null,
    max_window_layers: 3,
  },
  files: sentenceFiles('last', QWEN.hidden),
  tensors: tensorsOf(QWEN, 1, false, 0.5),
  around: { begin: [], end: [END] },
  lengths: [1, 5, 19, 40, 120],
  reference(weights, input, mistake) {
    const given = mistake === 'forgets the end token' ? { tokens: input.tokens.slice(0, -1) } : input
    const both: Form = { ...QWEN_FORM, last: (_, count) => count - 1 }
    const rows = rowsOf(QWEN, weights, given, mistake === 'sees what follows' ? both : QWEN_FORM)
    return unit(mistake === 'takes the mean' ? mean(rows) : rows.at(-1)!)
  },
  mistakes: ['forgets the end token', 'takes the mean', 'sees what follows'],
  gguf: {
    architecture: 'qwen3',
    metadata: (out) => {
      metadata(out, 'qwen3', QWEN, QWEN_THETA, 3)
      out.flag('tokenizer.ggml.add_bos_token', false)
    },
    tensors: (weights) => ggufTensors(QWEN, weights, false),
  },
}

/** llama.cpp's number of pooling that gives scores. */
export const RANK = 4

/** Tokens of the words between which the reranker decides. */
export const [YES, NO] = [400, 401]

/** Its score is how much likelier it says yes than no: it is a decoder as its makers trained it, under its own name. */
export const qwen3Reranker: EncoderCase = {
  ...qwen3Embedding,
  name: 'qwen3 reranker',
  files: {},
  reference(weights, input, mistake) {
    const [row] = [rowsOf(QWEN, weights, input, QWEN_FORM).at(mistake === 'reads the token before the last' ? -2 : -1)!]
    const logit = (token: number) =>
      row.reduce((sum, value, i) => sum + value * weights('embed_tokens.weight')[token * QWEN.hidden + i]!, 0)
    return Float64Array.of(
      logit(mistake === 'takes no for yes' ? NO : YES) - logit(mistake === 'takes no for yes' ? YES : NO),
    )
  },
  mistakes: ['reads the token before the last', 'takes no for yes'],
  gguf: {
    architecture: 'qwen3',
    metadata: (out) => {
      metadata(out, 'qwen3', QWEN, QWEN_THETA, RANK)
      out.flag('tokenizer.ggml.add_bos_token', false)
      out.texts('qwen3.classifier.output_labels', ['yes', 'no'])
    },
    tensors(weights) {
      const words = weights('embed_tokens.weight')
      const rows = [YES, NO].map((token) => words.slice(token * QWEN.hidden, (token + 1) * QWEN.hidden))
      const values = Float64Array.from(rows.flatMap((row) => [...row]))
      return [...ggufTensors(QWEN, weights, false), { name: 'cls.output.weight', dims: [QWEN.hidden, 2], values }]
    },
  },
}

const GEMMA: Shape = {
  vocab: 640,
  hidden: 192,
  inner: 352,
  layers: 7,
  heads: 3,
  keyHeads: 1,
  headSize: 64,
  epsilon: 1e-6,
}
const [WINDOW, THETA, LOCAL_THETA, WIDE] = [24, 1_000_000, 10_000, 256]
const MODULES = 'sentence_transformers.models'
const denseModule = (columns: number, rows: number) => ({
  in_features: columns,
  out_features: rows,
  bias: false,
  activation_function: 'torch.nn.modules.linear.Identity',
})

export const embeddingGemma: EncoderCase = {
  name: 'embedding gemma',
  config: {
    ...configOf(GEMMA),
    model_type: 'gemma3_text',
    architectures: ['Gemma3TextModel'],
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: GEMMA.headSize,
    rope_theta: THETA,
    rope_local_base_freq: LOCAL_THETA,
    rope_scaling: null,
    sliding_window: WINDOW,
    _sliding_window_pattern: 6,
    use_bidirectional_attention: true,
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
  },
  files: {
    ...sentenceFiles('mean', GEMMA.hidden),
    'modules.json': ['Transformer', 'Pooling', 'Dense', 'Dense', 'Normalize'].map((name, idx) => ({
      idx,
      name: String(idx),
      path: idx === 0 ? '' : `${idx}_${name}`,
      type: `${MODULES}.${name}`,
    })),
    '2_Dense/config.json': denseModule(GEMMA.hidden, WIDE),
    '3_Dense/config.json': denseModule(WIDE, GEMMA.hidden),
  },
  tensors: tensorsOf(GEMMA, 0, true, 0.1),
  apart: {
    '2_Dense': [matrix('linear.weight', WIDE, GEMMA.hidden)],
    '3_Dense': [matrix('linear.weight', GEMMA.hidden, WIDE)],
  },
  around: { begin: [1], end: [2] },
  lengths: [1, 5, 19, 60, 120],
  reference(weights, input, mistake) {
    const full = (layer: number) => (layer + 1) % 6 === 0
    const reach = mistake === 'sees the whole window each way' ? WINDOW : WINDOW / 2
    const rows = rowsOf(GEMMA, weights, input, {
      last: (position, count, layer) =>
        mistake === 'sees no later token' ? position : full(layer) ? count - 1 : Math.min(count - 1, position + reach),
      first: (position, layer) => (full(layer) ? 0 : Math.max(0, position - reach)),
      theta: (layer) => (full(layer) ? THETA : LOCAL_THETA),
      scale: GEMMA.headSize ** -0.5,
      plus: mistake === 'forgets the one of norms' ? 0 : 1,
      after: true,
      act: geluTanh,
      embeddingScale: mistake === 'forgets sqrt(hidden)' ? 1 : Math.sqrt(GEMMA.hidden),
    })
    const pooled = mistake === 'takes the first token' ? rows[0]! : mean(rows)
    if (mistake === 'forgets the products') return unit(pooled)
    return unit(product(weights('3_Dense/linear.weight'), product(weights('2_Dense/linear.weight'), pooled)))
  },
  mistakes: [
    'sees the whole window each way',
    'sees no later token',
    'forgets the one of norms',
    'forgets sqrt(hidden)',
    'takes the first token',
    'forgets the products',
  ],
  gguf: {
    architecture: 'gemma-embedding',
    metadata(out) {
      metadata(out, 'gemma-embedding', GEMMA, THETA, 1)
      out.u32('gemma-embedding.attention.sliding_window', WINDOW)
      for (const [name, columns, rows] of [
        ['dense_2', GEMMA.hidden, WIDE],
        ['dense_3', WIDE, GEMMA.hidden],
      ] as const) {
        out.u32(`gemma-embedding.${name}_feat_in`, columns)
        out.u32(`gemma-embedding.${name}_feat_out`, rows)
      }
    },
    tensors: (weights) => [
      ...ggufTensors(GEMMA, weights, true),
      { name: 'dense_2.weight', dims: [GEMMA.hidden, WIDE], values: weights('2_Dense/linear.weight') },
      { name: 'dense_3.weight', dims: [WIDE, GEMMA.hidden], values: weights('3_Dense/linear.weight') },
    ],
  },
}
