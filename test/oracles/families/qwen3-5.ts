import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
  frequencies,
  type Kept,
  normHeads,
  product,
  rmsNorm,
  rotate,
  sigmoid,
  silu,
  softplus,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { embedding, gatedMlp, layerName, llamaConfig, llamaMetadata } from './llama.js'

export const QWEN35_SHAPE = {
  vocab: 640,
  hidden: wide(160, 256),
  inner: wide(192, 256),
  layers: 5,
  heads: 2,
  keyHeads: 1,
  headSize: 256,
  theta: 10_000_000,
  tied: true,
  epsilon: 1e-6,
}
/** The linear layers: fewer heads for keys than for values. */
const LINEAR = { keyHeads: 2, valueHeads: 4, size: 128, kernel: 4 }
const ROTATED = 64
const KEYS = LINEAR.keyHeads * LINEAR.size
const VALUES = LINEAR.valueHeads * LINEAR.size
const CHANNELS = 2 * KEYS + VALUES
const isFull = (i: number) => (i + 1) % 4 === 0

const tensors: TensorSpec[] = [
  matrix('model.embed_tokens.weight', QWEN35_SHAPE.vocab, QWEN35_SHAPE.hidden, 2),
  norm('model.norm.weight', QWEN35_SHAPE.hidden, 0),
  ...Array.from({ length: QWEN35_SHAPE.layers }, (_, i) => layerTensors(i)).flat(),
]

function layerTensors(i: number): TensorSpec[] {
  const { hidden } = QWEN35_SHAPE
  const at = layerName(i)
  if (isFull(i)) return fullTensors(at)
  return [
    ...commonTensors(at),
    matrix(`${at}.linear_attn.in_proj_qkv.weight`, CHANNELS, hidden, 1.5),
    matrix(`${at}.linear_attn.in_proj_z.weight`, VALUES, hidden),
    matrix(`${at}.linear_attn.in_proj_a.weight`, LINEAR.valueHeads, hidden),
    matrix(`${at}.linear_attn.in_proj_b.weight`, LINEAR.valueHeads, hidden),
    { name: `${at}.linear_attn.conv1d.weight`, shape: [CHANNELS, 1, LINEAR.kernel], deviation: 0.5 },
    vector(`${at}.linear_attn.A_log`, LINEAR.valueHeads, 0.5, 0.5),
    vector(`${at}.linear_attn.dt_bias`, LINEAR.valueHeads, -2, 0.5),
    norm(`${at}.linear_attn.norm.weight`, LINEAR.size),
    matrix(`${at}.linear_attn.out_proj.weight`, hidden, VALUES),
  ]
}

function commonTensors(at: string): TensorSpec[] {
  const { hidden, inner } = QWEN35_SHAPE
  return [
    norm(`${at}.input_layernorm.weight`, hidden, 0),
    norm(`${at}.post_attention_layernorm.weight`, hidden, 0),
    matrix(`${at}.mlp.gate_proj.weight`, inner, hidden),
    matrix(`${at}.mlp.up_proj.weight`, inner, hidden),
    matrix(`${at}.mlp.down_proj.weight`, hidden, inner),
  ]
}

/** Of a layer with attention. */
export function fullTensors(at: string): TensorSpec[] {
  const { hidden, heads, keyHeads, headSize } = QWEN35_SHAPE
  return [
    ...commonTensors(at),
    matrix(`${at}.self_attn.q_proj.weight`, 2 * heads * headSize, hidden, 1.5),
    matrix(`${at}.self_attn.k_proj.weight`, keyHeads * headSize, hidden, 1.5),
    matrix(`${at}.self_attn.v_proj.weight`, keyHeads * headSize, hidden),
    matrix(`${at}.self_attn.o_proj.weight`, hidden, heads * headSize, 2),
    norm(`${at}.self_attn.q_norm.weight`, headSize, 0),
    norm(`${at}.self_attn.k_norm.weight`, headSize, 0),
  ]
}

/** What a linear layer keeps of all that came before: the last inputs of its convolution, and a matrix for each head. */
class DeltaNet {
  readonly #weights: (name: string) => Vector
  readonly #mistake: string | undefined
  #recent: Vector[] = []
  readonly #states = Array.from({ length: LINEAR.valueHeads }, () => new Float64Array(LINEAR.size ** 2))

  constructor(weights: (name: string) => Vector, mistake: string | undefined) {
    this.#weights = weights
    this.#mistake = mistake
  }

  step(h: Vector): Vector {
    const of = this.#weights
    const { size, valueHeads, keyHeads } = LINEAR
    const mixed = this.#convolved(product(of('in_proj_qkv.weight'), h))
    const z = product(of('in_proj_z.weight'), h)
    const b = product(of('in_proj_b.weight'), h)
    const a = product(of('in_proj_a.weight'), h)
    const out = new Float64Array(VALUES)
    for (let head = 0; head < valueHeads; head++) {
      const tiled = this.#mistake === 'tiles the heads of keys'
      const key = tiled ? head % keyHeads : Math.floor(head / (valueHeads / keyHeads))
      const part = (from: number, index: number) => mixed.slice(from + index * size, from + (index + 1) * size)
      const scale = this.#mistake === 'forgets the scale of queries' ? 1 : size ** -0.5
      const q = unit(part(0, key)).map((value) => value * scale)
      const k = unit(part(KEYS, key))
      const v = part(2 * KEYS, head)
      const beta = sigmoid(b[head]!)
      const speed = Math.exp(of('A_log')[head]!)
      const decay = Math.exp(-speed * softplus(a[head]! + of('dt_bias')[head]!))
      out.set(this.#delta(head, q, k, v, beta, decay), head * size)
    }
    const plus = this.#mistake === 'adds one in the norm of linear layers' ? 1 : 0
    const even = normHeads(out, size, of('norm.weight'), QWEN35_SHAPE.epsilon, plus)
    return product(of('out_proj.weight'), both(even, z.map(this.#mistake === 'gates by sigmoid' ? sigmoid : silu)))
  }

  /** The gated delta rule: the state forgets, learns what the key lacks, and answers the query. */
  #delta(head: number, q: Vector, k: Vector, v: Vector, beta: number, decay: number): Vector {
    const { size } = LINEAR
    const state = this.#states[head]!
    const late = this.#mistake === 'forgets after it has learned'
    if (!late) for (let i = 0; i < state.length; i++) state[i]! *= decay
    const known = new Float64Array(size)
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) known[j]! += state[i * size + j]! * k[i]!
    for (let i = 0; i < size; i++)
      for (let j = 0; j < size; j++) state[i * size + j]! += k[i]! * (v[j]! - known[j]!) * beta
    if (late) for (let i = 0; i < state.length; i++) state[i]! *= decay
    const out = new Float64Array(size)
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) out[j]! += state[i * size + j]! * q[i]!
    return out
  }

  #convolved(x: Vector): Vector {
    const { kernel } = LINEAR
    const weight = this.#weights('conv1d.weight')
    this.#recent = [...this.#recent, x].slice(-kernel)
    const turned = this.#mistake === 'turns the convolution round'
    return x.map((_, channel) => {
      let sum = 0
      this.#recent.forEach((input, i) => {
        const back = this.#recent.length - 1 - i
        sum += input[channel]! * weight[channel * kernel + (turned ? back : kernel - 1 - back)]!
      })
      return silu(sum)
    })
  }
}

function unit(x: Vector): Vector {
  const squares = x.reduce((sum, value) => sum + value * value, 0)
  return x.map((value) => value / Math.sqrt(squares + 1e-6))
}

/** Attention of the layer of this name, at a position. */
export function attend35(
  weights: Weights,
  at: string,
  cache: Attention,
  position: number,
  h: Vector,
  mistake?: string,
): Vector {
  const { heads, headSize, keyHeads, epsilon, theta } = QWEN35_SHAPE
  const angles = frequencies(theta, mistake === 'rotates the whole head' ? headSize : ROTATED)
  const of = (name: string) => weights(`${at}.self_attn.${name}.weight`)
  const both2 = product(of('q_proj'), h)
  const query = new Float64Array(heads * headSize)
  const gate = new Float64Array(heads * headSize)
  for (let head = 0; head < heads; head++) {
    const from = 2 * head * headSize
    const [first, second] = mistake === 'takes the gate for the query' ? [gate, query] : [query, gate]
    first.set(both2.slice(from, from + headSize), head * headSize)
    second.set(both2.slice(from + headSize, from + 2 * headSize), head * headSize)
  }
  const turned = (y: Vector, name: string) =>
    rotate(normHeads(y, headSize, of(`${name}_norm`), epsilon, 1), headSize, position, angles)
  const key = turned(product(of('k_proj'), h), 'k')
  const form = { headSize, keyHeads, scale: headSize ** -0.5 }
  const seen = cache.look(turned(query, 'q'), key, product(of('v_proj'), h), form)
  return product(of('o_proj'), mistake === 'forgets the gate' ? seen : both(seen, gate.map(sigmoid)))
}

/** `within`: what the layer of a name has in place of its MLP. */
export function qwen35Reference(
  weights: Weights,
  mistake?: string,
  kept?: Kept,
  within = (x: Vector, at: string) => gatedMlp(x, weights, `${at}.mlp`, silu),
) {
  const { hidden, epsilon } = QWEN35_SHAPE
  const caches = Array.from({ length: QWEN35_SHAPE.layers }, () => new Attention(kept))
  const nets = Array.from(
    { length: QWEN35_SHAPE.layers },
    (_, i) => new DeltaNet((name) => weights(`${layerName(i)}.linear_attn.${name}`), mistake),
  )
  let position = 0

  return {
    /** What the last norm leaves of a token's row; or what it is given. */
    row(token: number, normed = true): Vector {
      let x = embedding(weights, token, hidden)
      for (let i = 0; i < QWEN35_SHAPE.layers; i++) {
        const h = rmsNorm(x, weights(`${layerName(i)}.input_layernorm.weight`), epsilon, 1)
        x = add(x, isFull(i) ? attend35(weights, layerName(i), caches[i]!, position, h, mistake) : nets[i]!.step(h))
        const m = rmsNorm(x, weights(`${layerName(i)}.post_attention_layernorm.weight`), epsilon, 1)
        x = add(x, within(m, layerName(i)))
      }
      position++
      return normed ? rmsNorm(x, weights('model.norm.weight'), epsilon, 1) : x
    },
    step(token: number): Vector {
      const row = this.row(token)
      // The tied table is read for the row first, then as the head: tests put another in its place.
      return product(weights('model.embed_tokens.weight'), row)
    },
  }
}

/** There the heads of values are tiled: head j uses the key of head j % keyHeads. */
function tiled(values: Vector, unitSize: number): Vector {
  const { keyHeads, valueHeads } = LINEAR
  const each = valueHeads / keyHeads
  const out = new Float64Array(values.length)
  for (let head = 0; head < valueHeads; head++) {
    const from = ((head % keyHeads) * each + Math.floor(head / keyHeads)) * unitSize
    out.set(values.subarray(from, from + unitSize), head * unitSize)
  }
  return out
}

const grown = (values: Vector) => values.map((value) => value + 1)

/** Of a layer with attention, called `name`, as block `i`. */
export function ggufFull(weights: Weights, name: string, i: number): GgufTensor[] {
  const { hidden, inner, heads, keyHeads, headSize } = QWEN35_SHAPE
  const from = (each: string) => weights(`${name}.${each}`)
  const one = (each: string, dims: number[], values: Vector) => ({ name: `blk.${i}.${each}`, dims, values })
  return [
    one('attn_norm.weight', [hidden], grown(from('input_layernorm.weight'))),
    one('post_attention_norm.weight', [hidden], grown(from('post_attention_layernorm.weight'))),
    one('ffn_gate.weight', [hidden, inner], from('mlp.gate_proj.weight')),
    one('ffn_up.weight', [hidden, inner], from('mlp.up_proj.weight')),
    one('ffn_down.weight', [inner, hidden], from('mlp.down_proj.weight')),
    one('attn_q.weight', [hidden, 2 * heads * headSize], from('self_attn.q_proj.weight')),
    one('attn_k.weight', [hidden, keyHeads * headSize], from('self_attn.k_proj.weight')),
    one('attn_v.weight', [hidden, keyHeads * headSize], from('self_attn.v_proj.weight')),
    one('attn_output.weight', [heads * headSize, hidden], from('self_attn.o_proj.weight')),
    one('attn_q_norm.weight', [headSize], grown(from('self_attn.q_norm.weight'))),
    one('attn_k_norm.weight', [headSize], grown(from('self_attn.k_norm.weight'))),
  ]
}

function gguf(weights: Weights): GgufTensor[] {
  const { vocab, hidden, inner } = QWEN35_SHAPE
  const list: GgufTensor[] = []
  const put = (name: string, dims: number[], values: Vector) => list.push({ name, dims, values })
  put('token_embd.weight', [hidden, vocab], weights('model.embed_tokens.weight'))
  put('output_norm.weight', [hidden], grown(weights('model.norm.weight')))
  for (let i = 0; i < QWEN35_SHAPE.layers; i++) {
    if (isFull(i)) {
      list.push(...ggufFull(weights, layerName(i), i))
      continue
    }
    const from = (name: string) => weights(`${layerName(i)}.${name}`)
    const to = (name: string) => `blk.${i}.${name}`
    put(to('attn_norm.weight'), [hidden], grown(from('input_layernorm.weight')))
    put(to('post_attention_norm.weight'), [hidden], grown(from('post_attention_layernorm.weight')))
    put(to('ffn_gate.weight'), [hidden, inner], from('mlp.gate_proj.weight'))
    put(to('ffn_up.weight'), [hidden, inner], from('mlp.up_proj.weight'))
    put(to('ffn_down.weight'), [inner, hidden], from('mlp.down_proj.weight'))
    const linear = (name: string) => from(`linear_attn.${name}`)
    const mixed = (values: Vector, columns: number) => {
      const out = values.slice()
      out.set(tiled(values.subarray(2 * KEYS * columns) as Vector, LINEAR.size * columns), 2 * KEYS * columns)
      return out
    }
    put(to('attn_qkv.weight'), [hidden, CHANNELS], mixed(linear('in_proj_qkv.weight'), hidden))
    put(to('attn_gate.weight'), [hidden, VALUES], tiled(linear('in_proj_z.weight'), LINEAR.size * hidden))
    put(to('ssm_alpha.weight'), [hidden, LINEAR.valueHeads], tiled(linear('in_proj_a.weight'), hidden))
    put(to('ssm_beta.weight'), [hidden, LINEAR.valueHeads], tiled(linear('in_proj_b.weight'), hidden))
    put(to('ssm_conv1d.weight'), [LINEAR.kernel, CHANNELS], mixed(linear('conv1d.weight'), LINEAR.kernel))
    put(
      to('ssm_a'),
      [LINEAR.valueHeads],
      tiled(linear('A_log'), 1).map((value) => -Math.exp(value)),
    )
    put(to('ssm_dt.bias'), [LINEAR.valueHeads], tiled(linear('dt_bias'), 1))
    put(to('ssm_norm.weight'), [LINEAR.size], linear('norm.weight'))
    put(to('ssm_out.weight'), [VALUES, hidden], outColumns(linear('out_proj.weight')))
  }
  return list
}

function outColumns(values: Vector): Vector {
  const out = new Float64Array(values.length)
  for (let row = 0; row < QWEN35_SHAPE.hidden; row++) {
    out.set(tiled(values.slice(row * VALUES, (row + 1) * VALUES), LINEAR.size), row * VALUES)
  }
  return out
}

/** `blocks`: where there are more than layers. */
export function qwen35Metadata(out: Metadata, architecture: string, blocks = QWEN35_SHAPE.layers): void {
  llamaMetadata(out, architecture, { ...QWEN35_SHAPE, layers: blocks }, { rotated: ROTATED })
  out.integers(`${architecture}.rope.dimension_sections`, Int32Array.of(11, 11, 10, 0))
  out.u32(`${architecture}.ssm.conv_kernel`, LINEAR.kernel)
  out.u32(`${architecture}.ssm.state_size`, LINEAR.size)
  out.u32(`${architecture}.ssm.group_count`, LINEAR.keyHeads)
  out.u32(`${architecture}.ssm.time_step_rank`, LINEAR.valueHeads)
  out.u32(`${architecture}.ssm.inner_size`, VALUES)
  out.u32(`${architecture}.full_attention_interval`, 4)
}

export const qwen35: Case = {
  name: 'qwen3_5',
  config: {
    ...llamaConfig(QWEN35_SHAPE, 'qwen3_5_text', 'Qwen3_5ForCausalLM'),
    rope_theta: undefined,
    rope_parameters: {
      rope_type: 'default',
      rope_theta: QWEN35_SHAPE.theta,
      partial_rotary_factor: ROTATED / QWEN35_SHAPE.headSize,
      mrope_section: [11, 11, 10],
      mrope_interleaved: true,
    },
    linear_num_key_heads: LINEAR.keyHeads,
    linear_num_value_heads: LINEAR.valueHeads,
    linear_key_head_dim: LINEAR.size,
    linear_value_head_dim: LINEAR.size,
    linear_conv_kernel_dim: LINEAR.kernel,
    full_attention_interval: 4,
    layer_types: Array.from({ length: QWEN35_SHAPE.layers }, (_, i) =>
      isFull(i) ? 'full_attention' : 'linear_attention',
    ),
    attn_output_gate: true,
    attention_bias: false,
  },
  tensors,
  prompt: 80,
  mistakes: [
    'tiles the heads of keys',
    'forgets the scale of queries',
    'adds one in the norm of linear layers',
    'gates by sigmoid',
    'forgets after it has learned',
    'turns the convolution round',
    'rotates the whole head',
    'takes the gate for the query',
    'forgets the gate',
  ],
  reference: (weights, mistake, kept) => qwen35Reference(weights, mistake, kept),
  gguf: {
    architecture: 'qwen35',
    metadata: (out) => qwen35Metadata(out, 'qwen35'),
    tensors: gguf,
  },
}
