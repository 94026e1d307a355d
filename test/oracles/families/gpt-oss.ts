import {
  type Case,
  type FolderType,
  type GgufTensor,
  matrix,
  norm,
  type TensorSpec,
  vector,
  type Weights,
} from '../family.js'
import { type StoredTensor, storedAs } from '../files/safetensors.js'
import {
  Attention,
  add,
  frequencies,
  type Kept,
  product,
  rmsNorm,
  rotate,
  sigmoid,
  silu,
  times,
  type Vector,
} from '../float64.js'
import { toMxfp4 } from '../rounded.js'
import { wide } from '../width.js'
import { type ExpertsShape, expertsMetadata, type RouterTraits, routed } from './experts.js'
import { embedding, type LlamaShape, layerName, llamaConfig, llamaGgufTensors, llamaMetadata, SMALL } from './llama.js'

const SHAPE: LlamaShape = { ...SMALL, layers: 4, heads: 8, theta: 172260 }
const EXPERTS: ExpertsShape = { experts: 6, chosen: 2, size: wide(96, 256) }
const WINDOW = 32
const LIMIT = 7
const ALPHA = 1.702
/**
 * The range of the correction is not rounded, which llama.cpp does: with such a base it begins before the first pair, and
 * ends at a whole one, so that both compute the same.
 */
const YARN = { factor: 8, original: 128, fast: 32, slow: 1 }

/** How a mistake has it; by default as it is. */
interface Traits {
  readonly sinks?: false
  readonly clamped?: false
  /** Gates are clamped at their least, too. */
  readonly below?: true
  readonly oneMore?: false
  readonly gate?: (x: number) => number
  readonly router?: RouterTraits
  readonly routerBias?: false
  readonly expertBias?: false
  readonly outputBias?: false
  readonly slides?: (layer: number) => boolean
  readonly window?: number
  readonly factor?: number
  readonly turnScale?: number
}

const MISTAKES: Readonly<Record<string, Traits>> = {
  'forgets the sinks': { sinks: false },
  'clamps nothing': { clamped: false },
  'clamps gates from below': { below: true },
  'adds no one to what is gated': { oneMore: false },
  'takes silu for its gate': { gate: silu },
  'weighs by softmax of all scores': { router: { normed: false } },
  'takes one expert more': { router: { normed: true, more: 1 } },
  'lets all count alike': { router: { normed: true, alike: true } },
  'forgets the bias of the router': { routerBias: false },
  'forgets the biases of experts': { expertBias: false },
  'forgets the bias of the output': { outputBias: false },
  'lets the other layers slide': { slides: (layer) => layer % 2 === 1 },
  'lets no layer slide': { slides: () => false },
  'sees one key more': { window: WINDOW + 1 },
  'sees one key less': { window: WINDOW - 1 },
  'stretches nothing': { factor: 1 },
  'turns without making longer': { turnScale: 1 },
}

function anglesOf(factor = YARN.factor): Vector {
  const { headSize, theta } = SHAPE
  const pairAt = (turns: number) => (headSize * Math.log(YARN.original / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const [low, high] = [Math.max(0, pairAt(YARN.fast)), Math.min(headSize - 1, pairAt(YARN.slow))]
  return frequencies(theta, headSize).map((angle, i) => {
    const slow = Math.min(1, Math.max(0, (i - low) / (high - low)))
    return (angle / factor) * slow + angle * (1 - slow)
  })
}

function expert(x: Vector, weights: Weights, at: string, e: number, traits: Traits): Vector {
  const part = (name: string) => {
    const { shape } = TENSORS.find((spec) => spec.name === `${at}.experts.${name}_proj.weight`)!
    const [size, rows] = [shape[1]! * shape[2]!, shape[1]!]
    return [
      weights(`${at}.experts.${name}_proj.weight`).subarray(e * size, (e + 1) * size),
      traits.expertBias === false
        ? undefined
        : weights(`${at}.experts.${name}_proj.bias`).subarray(e * rows, (e + 1) * rows),
    ] as const
  }
  const clamp = (value: number, least: number) =>
    traits.clamped === false ? value : Math.max(least, Math.min(LIMIT, value))
  const gates = product(part('gate')[0], x, part('gate')[1])
  const values = product(part('up')[0], x, part('up')[1])
  const gate = traits.gate ?? ((value: number) => value * sigmoid(ALPHA * value))
  const inner = gates.map((each, i) => {
    const opened = gate(clamp(each, traits.below ? 0 : Number.NEGATIVE_INFINITY))
    return opened * (clamp(values[i]!, -LIMIT) + (traits.oneMore === false ? 0 : 1))
  })
  return product(part('down')[0], inner, part('down')[1])
}

function reference(weights: Weights, mistake?: string, kept?: Kept) {
  const traits = (mistake !== undefined && MISTAKES[mistake]) || {}
  const { hidden, headSize, keyHeads, epsilon, layers } = SHAPE
  const caches = Array.from({ length: layers }, () => new Attention(kept))
  const angles = anglesOf(traits.factor)
  const longer = traits.turnScale ?? 0.1 * Math.log(YARN.factor) + 1
  const slides = traits.slides ?? ((layer: number) => layer % 2 === 0)
  let position = 0
  return {
    step(token: number): Vector {
      let x = embedding(weights, token, hidden)
      for (let i = 0; i < layers; i++) {
        const at = layerName(i)
        const h = rmsNorm(x, weights(`${at}.input_layernorm.weight`), epsilon)
        const projected = (of: string) =>
          product(weights(`${at}.self_attn.${of}_proj.weight`), h, weights(`${at}.self_attn.${of}_proj.bias`))
        const turn = (y: Vector) => rotate(y, headSize, position, angles, longer)
        const seen = caches[i]!.look(turn(projected('q')), turn(projected('k')), projected('v'), {
          ...{ headSize, keyHeads, scale: headSize ** -0.5 },
          ...(slides(i) && { window: traits.window ?? WINDOW }),
          ...(traits.sinks !== false && { sinks: weights(`${at}.self_attn.sinks`) }),
        })
        const bias = traits.outputBias === false ? undefined : weights(`${at}.self_attn.o_proj.bias`)
        x = add(x, product(weights(`${at}.self_attn.o_proj.weight`), seen, bias))
        const m = rmsNorm(x, weights(`${at}.post_attention_layernorm.weight`), epsilon)
        const router = traits.routerBias === false ? undefined : weights(`${at}.mlp.router.bias`)
        const scores = product(weights(`${at}.mlp.router.weight`), m, router)
        const mixed = routed(scores, EXPERTS.chosen, traits.router ?? { normed: true })
          .map(([e, weight]) => times(expert(m, weights, `${at}.mlp`, e, traits), weight))
          .reduce(add)
        x = add(x, mixed)
      }
      position++
      return product(weights('lm_head.weight'), rmsNorm(x, weights('model.norm.weight'), epsilon))
    },
  }
}

function layerTensors(i: number): TensorSpec[] {
  const { hidden, heads, keyHeads, headSize } = SHAPE
  const { experts, size } = EXPERTS
  const at = layerName(i)
  const biased = (name: string, rows: number, columns: number, gain: number) => [
    matrix(`${at}.${name}.weight`, rows, columns, gain),
    vector(`${at}.${name}.bias`, rows, 0, 0.3),
  ]
  const all = (name: string, rows: number, columns: number, gain: number): TensorSpec[] => [
    { ...matrix(`${at}.mlp.experts.${name}_proj.weight`, rows, columns, gain), shape: [experts, rows, columns] },
    { ...vector(`${at}.mlp.experts.${name}_proj.bias`, rows, 0, 0.5), shape: [experts, rows] },
  ]
  return [
    norm(`${at}.input_layernorm.weight`, hidden),
    norm(`${at}.post_attention_layernorm.weight`, hidden),
    ...biased('self_attn.q_proj', heads * headSize, hidden, 1.5),
    ...biased('self_attn.k_proj', keyHeads * headSize, hidden, 1.5),
    ...biased('self_attn.v_proj', keyHeads * headSize, hidden, 1),
    ...biased('self_attn.o_proj', hidden, heads * headSize, 1),
    vector(`${at}.self_attn.sinks`, heads, 1, 2),
    ...biased('mlp.router', experts, hidden, 2),
    // Some of what comes of them goes beyond the bounds.
    ...all('gate', size, hidden, 4),
    ...all('up', size, hidden, 4),
    ...all('down', hidden, size, 0.4),
  ]
}

const TENSORS: readonly TensorSpec[] = [
  matrix('model.embed_tokens.weight', SHAPE.vocab, SHAPE.hidden, 8),
  norm('model.norm.weight', SHAPE.hidden),
  matrix('lm_head.weight', SHAPE.vocab, SHAPE.hidden, 2),
  ...Array.from({ length: SHAPE.layers }, (_, i) => layerTensors(i)).flat(),
]

/** What GGUF calls a layer's tensors, beside Llama's. */
const GGUF_NAMES: Readonly<Record<string, string>> = {
  'self_attn.q_proj.bias': 'attn_q.bias',
  'self_attn.k_proj.bias': 'attn_k.bias',
  'self_attn.v_proj.bias': 'attn_v.bias',
  'self_attn.o_proj.bias': 'attn_output.bias',
  'self_attn.sinks': 'attn_sinks.weight',
  'mlp.router.weight': 'ffn_gate_inp.weight',
  'mlp.router.bias': 'ffn_gate_inp.bias',
  'mlp.experts.gate_proj.weight': 'ffn_gate_exps.weight',
  'mlp.experts.gate_proj.bias': 'ffn_gate_exps.bias',
  'mlp.experts.up_proj.weight': 'ffn_up_exps.weight',
  'mlp.experts.up_proj.bias': 'ffn_up_exps.bias',
  'mlp.experts.down_proj.weight': 'ffn_down_exps.weight',
  'mlp.experts.down_proj.bias': 'ffn_down_exps.bias',
}

/** Gates and values by turns. */
function byTurns(gates: Vector, values: Vector, rows: number, columns: number): Vector {
  const out = new Float64Array(2 * gates.length)
  for (let row = 0; row < rows; row++) {
    const own = (from: Vector) => from.subarray(row * columns, (row + 1) * columns)
    out.set(own(gates), 2 * row * columns)
    out.set(own(values), (2 * row + 1) * columns)
  }
  return out
}

/** From [expert][row][column] to [expert][column][row]. */
function turnedOver(values: Vector, rows: number, columns: number): Vector {
  const size = rows * columns
  return values.map((_, i) => {
    const [expert, column, row] = [Math.floor(i / size), Math.floor((i % size) / rows), i % rows]
    return values[expert * size + row * columns + column]!
  })
}

/** As transformers has it: gates and values of a layer's experts by turns in one tensor, which is turned over, or in blocks. */
function folder(weights: Weights, type: FolderType): StoredTensor[] {
  const { hidden, layers } = SHAPE
  const { experts, size } = EXPERTS
  const numbers = type === 'MXFP4' ? 'BF16' : type
  const plain = (name: string, shape: readonly number[], values: Vector) => storedAs({ name, shape }, numbers, values)
  const matrices = (name: string, rows: number, columns: number, values: Vector): StoredTensor[] => {
    if (type !== 'MXFP4') return [plain(name, [experts, columns, rows], turnedOver(values, rows, columns))]
    const { codes, exponents } = toMxfp4(values)
    const pairs = Uint8Array.from({ length: codes.length / 2 }, (_, i) => codes[2 * i]! | (codes[2 * i + 1]! << 4))
    return [
      { name: `${name}_blocks`, dtype: 'U8', shape: [experts, rows, columns / 32, 16], data: pairs },
      { name: `${name}_scales`, dtype: 'U8', shape: [experts, rows, columns / 32], data: exponents },
    ]
  }
  const ofLayer = (i: number): StoredTensor[] => {
    const at = `${layerName(i)}.mlp.experts`
    const of = (name: string) => weights(`${at}.${name}`)
    const both = byTurns(of('gate_proj.weight'), of('up_proj.weight'), experts * size, hidden)
    const biases = byTurns(of('gate_proj.bias'), of('up_proj.bias'), experts * size, 1)
    return [
      ...matrices(`${at}.gate_up_proj`, 2 * size, hidden, both),
      plain(`${at}.gate_up_proj_bias`, [experts, 2 * size], biases),
      ...matrices(`${at}.down_proj`, hidden, size, of('down_proj.weight')),
      plain(`${at}.down_proj_bias`, [experts, hidden], of('down_proj.bias')),
    ]
  }
  const others = TENSORS.filter(({ name }) => !name.includes('.experts.'))
  return [
    ...others.map((spec) => storedAs(spec, numbers, weights(spec.name))),
    ...Array.from({ length: layers }, (_, i) => ofLayer(i)).flat(),
  ]
}

function ggufTensors(weights: Weights): GgufTensor[] {
  const none: Weights = (name) => (/\.mlp\.(gate|up|down)_proj\./.test(name) ? new Float64Array(0) : weights(name))
  return [
    ...llamaGgufTensors(SHAPE, none, false)
      .filter(({ values }) => values.length > 0)
      .map((tensor) => ({ ...tensor, name: tensor.name.replace('ffn_norm', 'post_attention_norm') })),
    ...Array.from({ length: SHAPE.layers }, (_, i) =>
      Object.entries(GGUF_NAMES).map(([from, to]): GgufTensor => {
        const { name, shape } = TENSORS.find((spec) => spec.name === `${layerName(i)}.${from}`)!
        return { name: `blk.${i}.${to}`, dims: shape.toReversed(), values: weights(name) }
      }),
    ).flat(),
  ]
}

export const gptOss: Case = {
  name: 'gpt_oss',
  config: {
    ...llamaConfig(SHAPE, 'gpt_oss', 'GptOssForCausalLM'),
    intermediate_size: EXPERTS.size,
    attention_bias: true,
    experts_per_token: EXPERTS.chosen,
    num_experts_per_tok: EXPERTS.chosen,
    num_local_experts: EXPERTS.experts,
    output_router_logits: false,
    router_aux_loss_coef: 0.9,
    initial_context_length: 4096,
    layer_types: Array.from({ length: SHAPE.layers }, (_, i) => (i % 2 ? 'full_attention' : 'sliding_attention')),
    sliding_window: WINDOW,
    swiglu_limit: LIMIT,
    rope_scaling: {
      rope_type: 'yarn',
      factor: YARN.factor,
      original_max_position_embeddings: YARN.original,
      beta_fast: YARN.fast,
      beta_slow: YARN.slow,
      truncate: false,
    },
  },
  tensors: TENSORS,
  folder,
  prompt: 80,
  mistakes: Object.keys(MISTAKES),
  reference,
  gguf: {
    architecture: 'gpt-oss',
    metadata: (out) => {
      llamaMetadata(out, 'gpt-oss', SHAPE)
      expertsMetadata(out, 'gpt-oss', EXPERTS)
      out.u32('gpt-oss.attention.sliding_window', WINDOW)
      out.text('gpt-oss.rope.scaling.type', 'yarn')
      out.float('gpt-oss.rope.scaling.factor', YARN.factor)
      out.u32('gpt-oss.rope.scaling.original_context_length', YARN.original)
      out.float('gpt-oss.rope.scaling.yarn_beta_fast', YARN.fast)
      out.float('gpt-oss.rope.scaling.yarn_beta_slow', YARN.slow)
    },
    tensors: ggufTensors,
  },
}
