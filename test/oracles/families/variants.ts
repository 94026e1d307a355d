/** Llama with a trait or two changed. */

import type { Metadata } from '../../../bench/peers/gguf-file.js'
import { type Case, type GgufTensor, matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import {
  Attention,
  add,
  frequencies,
  type Kept,
  normHeads,
  product,
  rmsNorm,
  rotate,
  silu,
  softplus,
  type Vector,
} from '../float64.js'
import {
  embedding,
  gatedMlp,
  headOf,
  type LlamaShape,
  layerName,
  llamaConfig,
  llamaGgufTensors,
  llamaMetadata,
  llamaReference,
  llamaTensors,
  SMALL,
} from './llama.js'

const SMOLLM = { ...SMALL, inner: 256, layers: 5, headSize: 128, tied: true, theta: 5_000_000 }

/** Every fourth layer has no positions. `no_rope_layers` says 1 where there are some. */
export const smollm3: Case = {
  name: 'smollm3',
  config: {
    ...llamaConfig(SMOLLM, 'smollm3', 'SmolLM3ForCausalLM'),
    no_rope_layers: [1, 1, 1, 0, 1],
    no_rope_layer_interval: 4,
    use_sliding_window: false,
    sliding_window: null,
    attention_bias: false,
    mlp_bias: false,
  },
  tensors: llamaTensors(SMOLLM),
  prompt: 80,
  mistakes: ['rotates every layer', 'reads the list the other way round'],
  reference: (weights, mistake, kept) =>
    llamaReference(SMOLLM, weights, {
      kept,
      rotates: (i) => {
        if (mistake === 'rotates every layer') return true
        const on = (i + 1) % 4 !== 0
        return mistake ? !on : on
      },
    }),
  gguf: {
    architecture: 'smollm3',
    metadata: (out) => llamaMetadata(out, 'smollm3', SMOLLM),
    tensors: (weights) => llamaGgufTensors(SMOLLM, weights, true),
  },
}

export const GRANITE = { embeddingFactor: 3, residualFactor: 0.22, attentionScale: 0.03, logitDivisor: 2.5 }
const GRANITE_MISTAKES = {
  'takes the usual scale of attention': { attentionScale: undefined },
  'forgets the factor of embeddings': { embeddingFactor: 1 },
  'forgets the factor of residuals': { residualFactor: 1 },
  'multiplies the logits': { logitDivisor: 1 / 2.5 },
}

export function graniteFactors(out: Metadata, architecture = 'granite'): void {
  out.float(`${architecture}.embedding_scale`, GRANITE.embeddingFactor)
  out.float(`${architecture}.residual_scale`, GRANITE.residualFactor)
  out.float(`${architecture}.attention.scale`, GRANITE.attentionScale)
  out.float(`${architecture}.logit_scale`, GRANITE.logitDivisor)
}

export const granite: Case = {
  name: 'granite',
  config: {
    ...llamaConfig({ ...SMALL, tied: true }, 'granite', 'GraniteForCausalLM'),
    embedding_multiplier: GRANITE.embeddingFactor,
    residual_multiplier: GRANITE.residualFactor,
    attention_multiplier: GRANITE.attentionScale,
    logits_scaling: GRANITE.logitDivisor,
    attention_bias: false,
    mlp_bias: false,
  },
  tensors: llamaTensors({ ...SMALL, tied: true }),
  prompt: 80,
  mistakes: Object.keys(GRANITE_MISTAKES),
  reference: (weights, mistake, kept) =>
    llamaReference({ ...SMALL, tied: true }, weights, {
      kept,
      ...GRANITE,
      ...GRANITE_MISTAKES[mistake as keyof typeof GRANITE_MISTAKES],
    }),
  gguf: {
    architecture: 'granite',
    metadata: (out) => {
      llamaMetadata(out, 'granite', SMALL)
      graniteFactors(out)
    },
    tensors: (weights) => llamaGgufTensors({ ...SMALL, tied: true }, weights, true),
  },
}

/** Granite 4.0 without experts and without layers of Mamba, whose sizes its files say all the same. */
const GRANITE4: LlamaShape = { ...SMALL, tied: true, theta: 10_000_000 }
const SHARED = 'shared_mlp'

/** As Granite 4.0 has them: gate and up in one. */
const granite4Tensors: readonly TensorSpec[] = [
  ...llamaTensors(GRANITE4).filter(({ name }) => !name.includes('.mlp.')),
  ...Array.from({ length: GRANITE4.layers }, (_, i) => [
    matrix(`${layerName(i)}.${SHARED}.input_linear.weight`, 2 * GRANITE4.inner, GRANITE4.hidden),
    matrix(`${layerName(i)}.${SHARED}.output_linear.weight`, GRANITE4.hidden, GRANITE4.inner),
  ]).flat(),
]

/** As Llama has them. */
function apart(weights: Weights, turnedRound = false): Weights {
  const half = GRANITE4.inner * GRANITE4.hidden
  return (name) => {
    const [, at, part] = /^(.*)\.mlp\.(gate|up|down)_proj\.weight$/.exec(name) ?? []
    if (at === undefined) return weights(name)
    if (part === 'down') return weights(`${at}.${SHARED}.output_linear.weight`)
    const both = weights(`${at}.${SHARED}.input_linear.weight`)
    return (part === 'gate') !== turnedRound ? both.subarray(0, half) : both.subarray(half)
  }
}

export const granite4: Case = {
  name: 'granite4',
  config: {
    ...granite.config,
    ...llamaConfig(GRANITE4, 'granitemoehybrid', 'GraniteMoeHybridForCausalLM'),
    layer_types: Array.from({ length: GRANITE4.layers }, () => 'attention'),
    shared_intermediate_size: GRANITE4.inner,
    num_local_experts: 0,
    num_experts_per_tok: 0,
    position_embedding_type: 'rope',
    normalization_function: 'rmsnorm',
    ...{ mamba_chunk_size: 256, mamba_conv_bias: true, mamba_d_conv: 4, mamba_d_head: 16, mamba_d_state: 128 },
    ...{ mamba_expand: 2, mamba_n_groups: 1, mamba_n_heads: 24, mamba_proj_bias: false },
  },
  tensors: granite4Tensors,
  prompt: 80,
  mistakes: ['takes up for gate', 'turns nothing', ...Object.keys(GRANITE_MISTAKES)],
  reference: (weights, mistake, kept) =>
    llamaReference(GRANITE4, apart(weights, mistake === 'takes up for gate'), {
      kept,
      ...GRANITE,
      ...(mistake === 'turns nothing' && { rotates: () => false }),
      ...GRANITE_MISTAKES[mistake as keyof typeof GRANITE_MISTAKES],
    }),
  // llama.cpp's converter writes Granite's files of them, with a list of heads and the sizes of Mamba's layers.
  gguf: {
    architecture: 'granite',
    metadata: (out) => {
      const each = Array.from({ length: GRANITE4.layers }, () => GRANITE4.keyHeads)
      llamaMetadata(out, 'granite', GRANITE4, { keyHeads: each })
      graniteFactors(out)
      out.u32('granite.expert_shared_feed_forward_length', GRANITE4.inner)
      out.flag('granite.rope.scaling.finetuned', true)
      const sizes = { conv_kernel: 4, state_size: 128, group_count: 1, inner_size: 384, time_step_rank: 24 }
      for (const [name, size] of Object.entries(sizes)) out.u32(`granite.ssm.${name}`, size)
    },
    tensors: (weights) => llamaGgufTensors(GRANITE4, apart(weights), true),
  },
}

const OLMO: LlamaShape = {
  ...SMALL,
  hidden: 256,
  inner: 256,
  layers: 3,
  heads: 2,
  keyHeads: 2,
  headSize: 128,
  theta: 500_000,
  epsilon: 1e-6,
}
const EXAONE: LlamaShape = { ...OLMO, keyHeads: 1, theta: 1_000_000, epsilon: 1e-5, tied: true }
const Q_NORM = 'self_attn.q_norm.weight'
const K_NORM = 'self_attn.k_norm.weight'

/** Norms stand after attention and after the MLP, and one over all of a projection's heads together. */
export const olmo2: Case = {
  ...normedAfter('olmo2', OLMO, 'row'),
  config: { ...llamaConfig(OLMO, 'olmo2', 'Olmo2ForCausalLM'), attention_bias: false },
  mistakes: ['norms each head', 'norms before attention'],
}

/** The same with a norm of each head by itself. */
export const exaone4: Case = {
  ...normedAfter('exaone4', EXAONE, 'head'),
  config: {
    ...llamaConfig(EXAONE, 'exaone4', 'Exaone4ForCausalLM'),
    attention_bias: false,
    sliding_window: null,
    sliding_window_pattern: null,
    layer_types: Array.from({ length: EXAONE.layers }, () => 'full_attention'),
  },
  mistakes: ['norms all heads together', 'norms before attention', 'norms keys like queries'],
}

function normedAfter(name: string, shape: LlamaShape, over: 'row' | 'head'): Omit<Case, 'config' | 'mistakes'> {
  const { layers, hidden, heads, keyHeads, headSize } = shape
  const normOf = (heads: number) => (over === 'row' ? heads : 1) * headSize
  return {
    name,
    tensors: [
      ...llamaTensors(shape).filter(({ name }) => !name.includes('input_layernorm')),
      ...Array.from({ length: layers }, (_, i) => [
        norm(`${layerName(i)}.post_feedforward_layernorm.weight`, hidden),
        vector(`${layerName(i)}.${Q_NORM}`, normOf(heads), 1, 0.2),
        vector(`${layerName(i)}.${K_NORM}`, normOf(keyHeads), 1, 0.2),
      ]).flat(),
    ],
    prompt: 80,
    reference: (weights, mistake, kept) => afterReference(shape, over, weights, mistake, kept),
    gguf: {
      architecture: name,
      metadata: (out) => llamaMetadata(out, name, shape),
      tensors: (weights) => afterGguf(shape, weights),
    },
  }
}

function afterReference(shape: LlamaShape, over: 'row' | 'head', weights: Weights, mistake?: string, kept?: Kept) {
  const { hidden, headSize, keyHeads, epsilon, theta, layers, tied } = shape
  const caches = Array.from({ length: layers }, () => new Attention(kept))
  const angles = frequencies(theta, headSize)
  let position = 0
  const qkNorm = (x: Vector, weight: Vector) => {
    if (mistake === 'norms each head') return normHeads(x, headSize, weight.slice(0, headSize), epsilon)
    if (mistake === 'norms all heads together')
      return rmsNorm(
        x,
        x.map((_, i) => weight[i % headSize]!),
        epsilon,
      )
    return over === 'row' ? rmsNorm(x, weight, epsilon) : normHeads(x, headSize, weight, epsilon)
  }
  return {
    step(token: number): Vector {
      let x = embedding(weights, token, hidden)
      for (let i = 0; i < layers; i++) {
        const of = (name: string) => weights(`${layerName(i)}.${name}`)
        const after = of('post_attention_layernorm.weight')
        const early = mistake === 'norms before attention'
        const h = early ? rmsNorm(x, after, epsilon) : x
        const q = qkNorm(product(of('self_attn.q_proj.weight'), h), of(Q_NORM))
        const keyNorm = of(mistake === 'norms keys like queries' ? Q_NORM : K_NORM)
        const k = qkNorm(product(of('self_attn.k_proj.weight'), h), keyNorm)
        const v = product(of('self_attn.v_proj.weight'), h)
        const turn = (y: Vector) => rotate(y, headSize, position, angles)
        const seen = caches[i]!.look(turn(q), turn(k), v, { headSize, keyHeads, scale: headSize ** -0.5 })
        const out = product(of('self_attn.o_proj.weight'), seen)
        x = add(x, early ? out : rmsNorm(out, after, epsilon))
        const m = gatedMlp(x, weights, `${layerName(i)}.mlp`, silu)
        x = add(x, rmsNorm(m, of('post_feedforward_layernorm.weight'), epsilon))
      }
      position++
      return product(headOf(weights, tied), rmsNorm(x, weights('model.norm.weight'), epsilon))
    },
  }
}

function afterGguf(shape: LlamaShape, weights: Weights): GgufTensor[] {
  // There is no norm before attention, and the one after it has a name of its own.
  const padded: Weights = (name) => (name.includes('input_layernorm') ? new Float64Array(shape.hidden) : weights(name))
  const list = llamaGgufTensors(shape, padded, false).filter(({ name }) => !/attn_norm|ffn_norm/.test(name))
  for (let i = 0; i < shape.layers; i++) {
    const put = (to: string, from: string) => {
      const values = weights(`${layerName(i)}.${from}`)
      list.push({ name: `blk.${i}.${to}.weight`, dims: [values.length], values })
    }
    put('post_attention_norm', 'post_attention_layernorm.weight')
    put('post_ffw_norm', 'post_feedforward_layernorm.weight')
    put('attn_q_norm', Q_NORM)
    put('attn_k_norm', K_NORM)
  }
  return list
}

const ARCEE: LlamaShape = { ...SMALL, layers: 3, inner: 320 }
const GATE = 'mlp.gate_proj'
const ARCEE_MISTAKES: Readonly<Record<string, (x: number) => number>> = {
  'takes relu alone': (x) => Math.max(0, x),
  'takes silu': silu,
}

/** No gates: relu, squared, between two matrices. */
export const arcee: Case = {
  name: 'arcee',
  config: {
    ...llamaConfig(ARCEE, 'arcee', 'ArceeForCausalLM'),
    hidden_act: 'relu2',
    attention_bias: false,
    mlp_bias: false,
  },
  tensors: llamaTensors(ARCEE).filter(({ name }) => !name.includes(GATE)),
  prompt: 80,
  mistakes: Object.keys(ARCEE_MISTAKES),
  reference: (weights, mistake, kept) =>
    llamaReference(ARCEE, weights, {
      kept,
      feedForward(x, at) {
        const activated = ARCEE_MISTAKES[mistake ?? ''] ?? ((value: number) => Math.max(0, value) ** 2)
        return product(weights(`${at}.down_proj.weight`), product(weights(`${at}.up_proj.weight`), x).map(activated))
      },
    }),
  gguf: {
    architecture: 'arcee',
    metadata: (out) => llamaMetadata(out, 'arcee', ARCEE),
    tensors: (weights) => {
      const some: Weights = (name) => (name.includes(GATE) ? new Float64Array(0) : weights(name))
      return llamaGgufTensors(ARCEE, some, true).filter(({ values }) => values.length > 0)
    },
  },
}

const APERTUS: LlamaShape = { ...SMALL, layers: 3, inner: 320, theta: 12_000_000 }
/** Of each layer; far from where they are learned, so that each can be seen. */
const CURVES: Readonly<Record<string, readonly number[]>> = {
  alpha_p: [0.75, 1.5, 0.25],
  alpha_n: [0.75, 0.25, 1.25],
  beta: [0.5, 0.75, 0.5],
  eps: [-0.0625, -0.25, -0.125],
}
const ofApertus = (name: string) =>
  name.replace('post_attention_layernorm', 'feedforward_layernorm').replace('input_layernorm', 'attention_layernorm')

function xielu(x: number, curve: Readonly<Record<string, number>>): number {
  const { alpha_p, alpha_n, beta, eps } = curve as { alpha_p: number; alpha_n: number; beta: number; eps: number }
  if (x > 0) return softplus(alpha_p) * x * x + beta * x
  return (beta + softplus(alpha_n)) * (Math.expm1(Math.min(x, eps)) - x) + beta * x
}

/** Norms of heads, and an MLP without gates, whose activation each layer has learned. */
export const apertus: Case = {
  name: 'apertus',
  config: {
    ...llamaConfig(APERTUS, 'apertus', 'ApertusForCausalLM'),
    hidden_act: 'xielu',
    ...{ attention_bias: false, mlp_bias: false, qk_norm: true, post_norm: false },
  },
  tensors: [
    ...llamaTensors(APERTUS)
      .filter(({ name }) => !name.includes(GATE))
      .map((spec) => ({ ...spec, name: ofApertus(spec.name) })),
    ...Array.from({ length: APERTUS.layers }, (_, i) => [
      norm(`${layerName(i)}.${Q_NORM}`, APERTUS.headSize),
      norm(`${layerName(i)}.${K_NORM}`, APERTUS.headSize),
      ...Object.entries(CURVES).map(([name, of]) => vector(`${layerName(i)}.mlp.act_fn.${name}`, 1, of[i]!, 0)),
    ]).flat(),
  ],
  prompt: 80,
  mistakes: ['takes relu squared', 'forgets beta', 'forgets epsilon', 'takes the first curve everywhere'],
  reference: (weights, mistake, kept) =>
    llamaReference(APERTUS, (name) => weights(ofApertus(name)), {
      kept,
      headNorms: true,
      feedForward(x, at) {
        const of = (name: string) =>
          weights(`${at.replace(/\d+/, mistake?.includes('first') ? '0' : '$&')}.act_fn.${name}`)[0]!
        const curve = Object.fromEntries(Object.keys(CURVES).map((name) => [name, of(name)]))
        if (mistake === 'forgets beta') curve.beta = 0
        if (mistake === 'forgets epsilon') curve.eps = 0
        const bend = (value: number) =>
          mistake === 'takes relu squared' ? Math.max(0, value) ** 2 : xielu(value, curve)
        return product(weights(`${at}.down_proj.weight`), product(weights(`${at}.up_proj.weight`), x).map(bend))
      },
    }),
  gguf: {
    architecture: 'apertus',
    metadata(out) {
      llamaMetadata(out, 'apertus', APERTUS)
      for (const [name, of] of Object.entries(CURVES)) out.floats(`xielu.${name}`, Float32Array.from(of))
    },
    tensors(weights) {
      const some: Weights = (name) => (name.includes(GATE) ? new Float64Array(0) : weights(ofApertus(name)))
      return [
        ...llamaGgufTensors(APERTUS, some, false).filter(({ values }) => values.length > 0),
        ...Array.from({ length: APERTUS.layers }, (_, i) =>
          ['q', 'k'].map((each) => {
            const values = weights(`${layerName(i)}.self_attn.${each}_norm.weight`)
            return { name: `blk.${i}.attn_${each}_norm.weight`, dims: [values.length], values }
          }),
        ).flat(),
      ]
    },
  },
}
