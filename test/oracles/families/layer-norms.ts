/** Decoders with layer norms that have biases, from the definitions of their publications. */
import { type Case, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
  frequencies,
  geluTanh,
  type Kept,
  layerNorm,
  product,
  rmsNorm,
  rotate,
  silu,
  type Vector,
} from '../float64.js'
import { embedding, type LlamaShape, layerName, llamaConfig, llamaMetadata, SMALL } from './llama.js'

interface Form {
  readonly shape: LlamaShape
  /** Of each head, from its beginning. */
  readonly rotated: number
  /** Transformers' names of what stands in a model once and in each layer, and llama.cpp's. */
  readonly names: Readonly<Record<string, string>>
  readonly layer: Readonly<Record<string, string>>
  /** What has biases beside norms, as transformers calls it. */
  readonly biased: RegExp
  readonly sizes: Readonly<Record<string, readonly [rows: number, columns: number]>>
  mlp(x: Vector, of: Linear, mistake: string | undefined): Vector
  /** llama.cpp has a table of gelu. */
  readonly approximate?: boolean
}

/** A product of a layer, with its bias. */
type Linear = (name: string, x: Vector) => Vector

const MISTAKES = ['norms without the mean', 'forgets the biases of norms', 'turns whole heads', 'forgets biases']

const SHAPE: LlamaShape = { ...SMALL, hidden: 256, layers: 3, inner: 256 }
const [QUERIES, KEYS] = [SHAPE.heads * SHAPE.headSize, SHAPE.keyHeads * SHAPE.headSize]

function tensorsOf({ shape, names, layer, biased, sizes }: Form): TensorSpec[] {
  const { vocab, hidden, layers, tied } = shape
  const all = [
    ...Object.keys(names),
    ...Array.from({ length: layers }, (_, i) => Object.keys(layer).map((name) => `${layerName(i)}.${name}`)).flat(),
  ]
  return all.flatMap((name) => {
    if (/norm/.test(name)) return [norm(`${name}.weight`, hidden), vector(`${name}.bias`, hidden, 0, 0.3)]
    const [rows, columns] = sizes[name.replace(/^model\.layers\.\d+\./, '')] ?? [vocab, hidden]
    const gain = name.includes('embed') && !tied ? 8 : /embed|head/.test(name) ? 2 : /[qk]_proj/.test(name) ? 1.5 : 1
    const bias = biased.test(name) ? [vector(`${name}.bias`, rows, 0, 0.3)] : []
    return [matrix(`${name}.weight`, rows, columns, gain), ...bias]
  })
}

function reference(form: Form, weights: Weights, mistake?: string, kept?: Kept) {
  const { shape, rotated, names, layer, biased } = form
  const { hidden, layers, headSize, keyHeads, epsilon, theta } = shape
  const [embedded, last, head = embedded] = Object.keys(names) as [string, string, string?]
  const output = Object.keys(layer).find((name) => layer[name] === 'attn_output')!
  const parallel = !Object.values(layer).includes('ffn_norm')
  const caches = Array.from({ length: layers }, () => new Attention(kept))
  const angles = frequencies(theta, mistake === 'turns whole heads' ? headSize : rotated)
  const without = mistake === 'forgets the biases of norms'
  const normed = (x: Vector, name: string) => {
    const [weight, bias] = [weights(`${name}.weight`), weights(`${name}.bias`)]
    if (mistake === 'norms without the mean') return add(rmsNorm(x, weight, epsilon), bias)
    return layerNorm(x, weight, without ? undefined : bias, epsilon)
  }
  const linear: Linear = (name, x) => {
    const without = mistake === 'forgets biases' || (name === head && mistake === 'forgets the bias of the head')
    return product(weights(`${name}.weight`), x, biased.test(name) && !without ? weights(`${name}.bias`) : undefined)
  }
  let position = 0
  return {
    step(token: number): Vector {
      let x = embedding(weights, token, hidden)
      for (let i = 0; i < layers; i++) {
        const at = layerName(i)
        const of: Linear = (name, y) => linear(`${at}.${name}`, y)
        const h = normed(x, `${at}.input_layernorm`)
        const turn = (y: Vector) => rotate(y, headSize, position, angles)
        const [q, k, v] = ['q', 'k', 'v'].map((each) => of(`self_attn.${each}_proj`, h)) as [Vector, Vector, Vector]
        const seen = caches[i]!.look(turn(q), turn(k), v, { headSize, keyHeads, scale: headSize ** -0.5 })
        x = add(x, of(output, seen))
        const late = parallel && mistake === 'adds attention before the MLP reads'
        const read = parallel && !late ? h : normed(x, `${at}.${parallel ? 'input' : 'post_attention'}_layernorm`)
        x = add(x, form.mlp(read, of, mistake))
      }
      position++
      return linear(head, normed(x, last))
    },
  }
}

function caseOf(name: string, form: Form, config: object, mistakes: readonly string[], architecture = name): Case {
  const { shape, rotated, names, layer } = form
  const renamed = (name: string) => {
    const [, i, part, suffix] = /^model\.layers\.(\d+)\.(.*)\.(weight|bias)$/.exec(name) ?? []
    if (part !== undefined) return `blk.${i}.${layer[part]}.${suffix}`
    const [, once, end] = /^(.*)\.(weight|bias)$/.exec(name)!
    return `${names[once!]}.${end}`
  }
  const tensors = tensorsOf(form)
  return {
    name,
    config: { ...llamaConfig(shape, name, 'ForCausalLM'), rms_norm_eps: undefined, ...config },
    tensors,
    prompt: 80,
    mistakes,
    reference: (weights, mistake, kept) => reference(form, weights, mistake, kept),
    gguf: {
      architecture,
      approximate: form.approximate === true,
      metadata(out) {
        llamaMetadata(out, architecture, shape, { rotated })
        out.float(`${architecture}.attention.layer_norm_epsilon`, shape.epsilon)
      },
      tensors: (weights) =>
        tensors.map(({ name, shape }) => ({
          name: renamed(name),
          dims: [...shape].reverse(),
          values: weights(name),
        })),
    },
  }
}

const NAMES = { 'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm' }
const LAYER = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
}
const SIZES = {
  'self_attn.q_proj': [QUERIES, SHAPE.hidden],
  'self_attn.k_proj': [KEYS, SHAPE.hidden],
  'self_attn.v_proj': [KEYS, SHAPE.hidden],
  'self_attn.o_proj': [SHAPE.hidden, QUERIES],
} as const
const UP = [SHAPE.inner, SHAPE.hidden] as const
const DOWN = [SHAPE.hidden, SHAPE.inner] as const

/** StableLM 2 1.6B. */
export const stablelm = caseOf(
  'stablelm',
  {
    shape: SHAPE,
    rotated: SHAPE.headSize / 4,
    names: { ...NAMES, lm_head: 'output' },
    layer: { ...LAYER, 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down' },
    biased: /[qkv]_proj$/,
    sizes: { ...SIZES, 'mlp.gate_proj': UP, 'mlp.up_proj': UP, 'mlp.down_proj': DOWN },
    mlp: (x, of) => of('mlp.down_proj', both(of('mlp.gate_proj', x).map(silu), of('mlp.up_proj', x))),
  },
  {
    ...{ layer_norm_eps: SHAPE.epsilon, partial_rotary_factor: 0.25, use_qkv_bias: true },
    ...{ qk_layernorm: false, use_parallel_residual: false },
  },
  MISTAKES,
)

const ACTIVATIONS: Readonly<Record<string, (x: number) => number>> = {
  'takes silu': silu,
  'takes relu': (x) => Math.max(0, x),
}

/** StarCoder 2: an MLP without gates, and biases wherever there is a product but in its head, which is the embedding. */
export const starcoder2 = caseOf(
  'starcoder2',
  {
    shape: { ...SHAPE, tied: true },
    rotated: SHAPE.headSize,
    names: NAMES,
    layer: { ...LAYER, 'mlp.c_fc': 'ffn_up', 'mlp.c_proj': 'ffn_down' },
    biased: /c_fc$|_proj$/,
    sizes: { ...SIZES, 'mlp.c_fc': UP, 'mlp.c_proj': DOWN },
    mlp: (x, of, mistake) => of('mlp.c_proj', of('mlp.c_fc', x).map(ACTIVATIONS[mistake ?? ''] ?? geluTanh)),
    approximate: true,
  },
  {
    ...{ hidden_act: 'gelu_pytorch_tanh', norm_epsilon: SHAPE.epsilon, norm_type: 'layer_norm', use_bias: true },
    ...{ sliding_window: null, residual_dropout: 0.1, embedding_dropout: 0.1, mlp_type: 'default' },
  },
  [...MISTAKES.filter((mistake) => mistake !== 'turns whole heads'), ...Object.keys(ACTIVATIONS)],
)

const ALL: LlamaShape = { ...SHAPE, keyHeads: SHAPE.heads }
const { post_attention_layernorm: _, 'self_attn.o_proj': OUTPUT, ...BESIDE } = LAYER

/** Phi 1.5 and 2: attention and MLP read the same rows, and both are added; the head has a bias, too. */
export const phi = caseOf(
  'phi',
  {
    shape: ALL,
    rotated: ALL.headSize / 2,
    names: { 'model.embed_tokens': 'token_embd', 'model.final_layernorm': 'output_norm', lm_head: 'output' },
    layer: { ...BESIDE, 'self_attn.dense': OUTPUT, 'mlp.fc1': 'ffn_up', 'mlp.fc2': 'ffn_down' },
    biased: /_proj$|dense$|fc[12]$|head$/,
    sizes: {
      ...Object.fromEntries(['q', 'k', 'v'].map((each) => [`self_attn.${each}_proj`, [QUERIES, ALL.hidden] as const])),
      ...({ 'self_attn.dense': [ALL.hidden, QUERIES], 'mlp.fc1': UP, 'mlp.fc2': DOWN } as const),
    },
    mlp: (x, of, mistake) => of('mlp.fc2', of('mlp.fc1', x).map(ACTIVATIONS[mistake ?? ''] ?? geluTanh)),
    approximate: true,
  },
  {
    ...{ hidden_act: 'gelu_new', layer_norm_eps: ALL.epsilon, partial_rotary_factor: 0.5, qk_layernorm: false },
    ...{ num_key_value_heads: null, resid_pdrop: 0, embd_pdrop: 0 },
  },
  [...MISTAKES, ...Object.keys(ACTIVATIONS), 'adds attention before the MLP reads', 'forgets the bias of the head'],
  'phi2',
)
