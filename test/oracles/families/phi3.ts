import { type Case, type GgufTensor, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import {
  Attention,
  add,
  both,
  frequencies,
  type Kept,
  product,
  rmsNorm,
  rotate,
  silu,
  type Vector,
} from '../float64.js'
import { wide } from '../width.js'
import { embedding, headOf, type LlamaShape, layerName, llamaConfig, llamaMetadata, SMALL } from './llama.js'

const MAX = 2048

interface Form {
  readonly name: string
  readonly shape: LlamaShape
  /** Positions that the model was first trained on. */
  readonly original: number
  readonly rotated: number
  readonly context: number
}

const short = (pairs: number) => Array.from({ length: pairs }, (_, i) => 1 + 0.02 * i)
const long = (pairs: number) => Array.from({ length: pairs }, (_, i) => 1.5 + 0.25 * i)

function tensorsOf({ vocab, hidden, inner, layers, heads, keyHeads, headSize }: LlamaShape): TensorSpec[] {
  return [
    matrix('model.embed_tokens.weight', vocab, hidden, 2),
    norm('model.norm.weight', hidden),
    ...Array.from({ length: layers }, (_, i) => [
      norm(`${layerName(i)}.input_layernorm.weight`, hidden),
      norm(`${layerName(i)}.post_attention_layernorm.weight`, hidden),
      matrix(`${layerName(i)}.self_attn.qkv_proj.weight`, (heads + 2 * keyHeads) * headSize, hidden, 1.5),
      matrix(`${layerName(i)}.self_attn.o_proj.weight`, hidden, heads * headSize, 2),
      matrix(`${layerName(i)}.mlp.gate_up_proj.weight`, 2 * inner, hidden),
      matrix(`${layerName(i)}.mlp.down_proj.weight`, hidden, inner),
    ]).flat(),
  ]
}

/** From the published definition of LongRoPE: `factors` divide the angles, a pair each. */
function anglesOf({ shape, rotated }: Form, factors: readonly number[], mistake?: string): Vector {
  const whole = mistake === 'takes the exponent over the whole head' ? shape.headSize : rotated
  return frequencies(shape.theta, whole)
    .slice(0, factors.length)
    .map((angle, i) => angle / factors[i]!)
}

/**
 * Which factors hold is decided by how long the sequence is: one that passes the border is computed anew, from its first
 * token, as transformers does it.
 */
function reference(form: Form, weights: Weights, mistake?: string, kept?: Kept) {
  const pairs = form.rotated / 2
  const [near, far] = [short(pairs), long(pairs)].map((factors) => anglesOf(form, factors, mistake)) as [Vector, Vector]
  const isLong = (length: number) => {
    if (mistake === 'takes factors by the configuration') return MAX > form.original
    return mistake !== 'keeps the short factors' && length > form.original
  }
  const tokens: number[] = []
  let decoder = decoderOf(form, weights, mistake, kept)
  return {
    step(token: number): Vector {
      tokens.push(token)
      const { length } = tokens
      const angles = isLong(length) ? far : near
      if (length === 1 || isLong(length) === isLong(length - 1) || mistake === 'keeps the keys of short factors')
        return decoder.step(token, angles)
      decoder = decoderOf(form, weights, mistake, kept)
      return tokens.map((each) => decoder.step(each, angles)).at(-1)!
    },
  }
}

function decoderOf(form: Form, weights: Weights, mistake?: string, kept?: Kept) {
  const { hidden, heads, keyHeads, headSize, inner, epsilon } = form.shape
  const grown = Math.sqrt(1 + Math.log(MAX / form.original) / Math.log(form.original))
  const scale = mistake === 'forgets the scale of cos and sin' ? 1 : grown
  const caches = Array.from({ length: form.shape.layers }, () => new Attention(kept))
  let position = 0
  return {
    step(token: number, angles: Vector): Vector {
      let x = embedding(weights, token, hidden)
      for (let i = 0; i < form.shape.layers; i++) {
        const of = (name: string) => weights(`${layerName(i)}.${name}.weight`)
        const all = product(of('self_attn.qkv_proj'), rmsNorm(x, of('input_layernorm'), epsilon))
        const [queries, keys] = [heads * headSize, keyHeads * headSize]
        const turn = (y: Vector) => rotate(y, headSize, position, angles, scale)
        const seen = caches[i]!.look(
          turn(all.slice(0, queries)),
          turn(all.slice(queries, queries + keys)),
          all.slice(queries + keys),
          { headSize, keyHeads, scale: headSize ** -0.5 },
        )
        x = add(x, product(of('self_attn.o_proj'), seen))
        const two = product(of('mlp.gate_up_proj'), rmsNorm(x, of('post_attention_layernorm'), epsilon))
        const [gate, up] = [two.slice(0, inner), two.slice(inner)]
        const m = mistake === 'takes up for gate' ? both(up.map(silu), gate) : both(gate.map(silu), up)
        x = add(x, product(of('mlp.down_proj'), m))
      }
      position++
      return product(headOf(weights, form.shape.tied), rmsNorm(x, weights('model.norm.weight'), epsilon))
    },
  }
}

function gguf(form: Form, weights: Weights): GgufTensor[] {
  const { vocab, hidden, inner, heads, keyHeads, headSize } = form.shape
  const list: GgufTensor[] = []
  const put = (name: string, dims: number[], values: Vector) => list.push({ name, dims, values })
  const pairs = form.rotated / 2
  put('token_embd.weight', [hidden, vocab], weights('model.embed_tokens.weight'))
  put('output_norm.weight', [hidden], weights('model.norm.weight'))
  put('rope_factors_long.weight', [pairs], Float64Array.from(long(pairs)))
  put('rope_factors_short.weight', [pairs], Float64Array.from(short(pairs)))
  for (let i = 0; i < form.shape.layers; i++) {
    const from = (name: string) => weights(`${layerName(i)}.${name}.weight`)
    const to = (name: string) => `blk.${i}.${name}.weight`
    put(to('attn_norm'), [hidden], from('input_layernorm'))
    put(to('ffn_norm'), [hidden], from('post_attention_layernorm'))
    put(to('attn_qkv'), [hidden, (heads + 2 * keyHeads) * headSize], from('self_attn.qkv_proj'))
    put(to('attn_output'), [heads * headSize, hidden], from('self_attn.o_proj'))
    put(to('ffn_up'), [hidden, 2 * inner], from('mlp.gate_up_proj'))
    put(to('ffn_down'), [inner, hidden], from('mlp.down_proj'))
  }
  return list
}

function phi(form: Form): Case {
  const pairs = form.rotated / 2
  return {
    name: form.name,
    config: {
      ...llamaConfig(form.shape, 'phi3', 'Phi3ForCausalLM'),
      head_dim: undefined,
      max_position_embeddings: MAX,
      original_max_position_embeddings: form.original,
      partial_rotary_factor: form.rotated / form.shape.headSize,
      rope_scaling: { type: 'longrope', short_factor: short(pairs), long_factor: long(pairs) },
      sliding_window: null,
    },
    tensors: tensorsOf(form.shape),
    prompt: 80,
    context: form.context,
    mistakes: [
      ...(form.context > form.original
        ? ['keeps the short factors', 'keeps the keys of short factors']
        : ['takes factors by the configuration']),
      'forgets the scale of cos and sin',
      'takes up for gate',
      ...(form.rotated < form.shape.headSize ? ['takes the exponent over the whole head'] : []),
    ],
    reference: (weights, mistake, kept) => reference(form, weights, mistake, kept),
    gguf: {
      architecture: 'phi3',
      metadata: (out) => {
        llamaMetadata(out, 'phi3', form.shape, { rotated: form.rotated })
        out.u32('phi3.rope.scaling.original_context_length', form.original)
        out.float(
          'phi3.rope.scaling.attn_factor',
          Math.sqrt(1 + Math.log(MAX / form.original) / Math.log(form.original)),
        )
        out.u32('phi3.attention.sliding_window', 0)
      },
      tensors: (weights) => gguf(form, weights),
    },
  }
}

const SHAPE = { ...SMALL, inner: wide(192, 256), layers: 3, tied: true }

const HEADS = wide(3, 4)
const HEAD = wide(96, 64)

/** Past the first positions with the long factors, and before them with the short ones; the latter turns a part of a head. */
export const phi3 = phi({
  name: 'phi3',
  shape: { ...SHAPE, hidden: wide(288, 256), heads: HEADS, keyHeads: HEADS, headSize: HEAD },
  original: 64,
  rotated: HEAD,
  context: 1024,
})
export const phi4Mini = phi({
  name: 'phi4-mini',
  shape: { ...SHAPE, hidden: 256, heads: 2, keyHeads: 1, headSize: 128 },
  original: 512,
  rotated: 96,
  context: 512,
})
