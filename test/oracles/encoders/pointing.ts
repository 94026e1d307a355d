/**
 * What points beside a decoder that writes, from the model that is trained for it (`models/nano/recipe/encoder.py`): a
 * Llama as MLC stores it in four bits, read both ways, W x + out^T (into x) in place of W x, other norms, and heads.
 */
import type { RawTensor, WeightSource } from '../../../src/models/files/source.js'
import { quantize } from '../../../src/models/quantize.js'
import { floatToHalf } from '../../../src/platform/half.js'
import { matrix, norm, type TensorSpec, vector, type Weights } from '../family.js'
import { FIRST_WORD } from '../files/gguf.js'
import {
  add,
  addTimes,
  both,
  dotOf,
  frequencies,
  product,
  rmsNorm,
  rotate,
  silu,
  softmax,
  type Vector,
} from '../float64.js'
import { Random } from '../random.js'
import { throughMlc } from '../rounded.js'
import { weightsOf } from '../weights.js'

const SHAPE = {
  vocab: 640,
  hidden: 96,
  inner: 160,
  layers: 3,
  heads: 4,
  keyHeads: 2,
  headSize: 32,
  theta: 10_000,
  epsilon: 1e-5,
} as const
const RANK = 8
const POINTER_SIZE = 24
const NOTHINGS = 3
const POINTERS = ['start_q', 'start_k', 'end_q', 'end_k', 'from_q', 'option_q', 'option_k']
/** What a product of low rank stands beside. */
const ADAPTED = ['self_attn.qkv_proj', 'self_attn.o_proj', 'mlp.down_proj'] as const
type Adapted = (typeof ADAPTED)[number]

const { vocab, hidden, inner, heads, keyHeads, headSize } = SHAPE
const QKV = (heads + 2 * keyHeads) * headSize
const SIDES: Readonly<Record<Adapted, readonly [inputs: number, outputs: number]>> = {
  'self_attn.qkv_proj': [hidden, QKV],
  'self_attn.o_proj': [heads * headSize, hidden],
  'mlp.down_proj': [inner, hidden],
}
const LAYER_NORMS = ['input_layernorm.weight', 'post_attention_layernorm.weight']

const tensors: TensorSpec[] = [
  matrix('model.embed_tokens', vocab, hidden, 8),
  norm('model.norm.weight', hidden),
  norm('pointing.norm.weight', hidden),
  norm('pointing.out.weight', hidden),
  ...POINTERS.map((name) => matrix(`pointing.heads.${name}`, POINTER_SIZE, hidden)),
  vector('pointing.nothings', NOTHINGS * hidden, 0, hidden ** -0.5),
  vector('pointing.said', 2, 0.5, 0.2),
]
for (let i = 0; i < SHAPE.layers; i++) {
  for (const name of LAYER_NORMS)
    tensors.push(norm(`model.layers.${i}.${name}`, hidden), norm(`pointing.layers.${i}.${name}`, hidden))
  tensors.push(
    matrix(`model.layers.${i}.self_attn.qkv_proj`, QKV, hidden, 1.5),
    matrix(`model.layers.${i}.self_attn.o_proj`, hidden, heads * headSize),
    matrix(`model.layers.${i}.mlp.gate_up_proj`, 2 * inner, hidden),
    matrix(`model.layers.${i}.mlp.down_proj`, hidden, inner),
  )
  for (const name of ADAPTED) {
    const [inputs, outputs] = SIDES[name]
    tensors.push(matrix(`pointing.layers.${i}.${name}.into`, RANK, inputs), {
      name: `pointing.layers.${i}.${name}.out`,
      shape: [RANK, outputs],
      deviation: RANK ** -0.5,
    })
  }
}

const plain = weightsOf({ name: 'pointing', tensors })
const stored = new Map<string, Vector>()
/** As they come back from four bits, or from the halves that vectors are stored in. */
const weights: Weights = (name) => {
  const found = stored.get(name) ?? (isMatrix(name) ? throughMlc(plain(name)) : plain(name))
  stored.set(name, found)
  return found
}
const specs = new Map(tensors.map((spec) => [spec.name, spec]))
const isMatrix = (name: string) => specs.get(name)!.shape.length === 2

export interface PointingText {
  readonly tokens: readonly number[]
  /** Where questions end. */
  readonly marks: readonly number[]
}

export interface PointingNumbers {
  /** Of each token. */
  readonly heads: readonly Vector[]
  /** Of each mark. */
  readonly nothings: readonly Vector[]
  readonly words: readonly Vector[]
}

/** What becomes of numbers on their way into a product of four bits. @default nothing */
export type Rounds = (x: Vector) => Vector

function numbersOf({ tokens, marks }: PointingText, mistake?: string, rounds: Rounds = (x) => x): PointingNumbers {
  const is = (one: (typeof MISTAKES)[number]) => mistake === one
  const through = (name: string, x: Vector) => product(weights(name), rounds(x))
  const ofStream = (name: string) =>
    weights(is('takes the norms of the decoder') ? `model.${name}` : `pointing.${name}`)
  const normed = (x: Vector, weight: Vector) => rmsNorm(x, weight, SHAPE.epsilon)
  const angles = frequencies(SHAPE.theta, headSize)
  const beside = (at: string, x: Vector): Vector => {
    const [into, out] = [weights(`pointing.${at}.into`), weights(`pointing.${at}.out`)]
    const low = product(into, x)
    if (is('takes the second factor by its rows')) return product(out, low)
    const sum = new Float64Array(out.length / RANK)
    low.forEach((factor, i) => {
      addTimes(sum, 0, factor, out, i * sum.length, sum.length)
    })
    return sum
  }
  const adapted = (layer: number, name: Adapted, x: Vector, read = x): Vector => {
    const at = `layers.${layer}.${name}`
    const own = through(`model.${at}`, x)
    return is('leaves out what is added') || mistake === `leaves out what is added to ${name}`
      ? own
      : add(own, beside(at, read))
  }
  let rows = tokens.map((token) => weights('model.embed_tokens').slice(token * hidden, (token + 1) * hidden))
  for (let i = 0; i < SHAPE.layers; i++) {
    const at = `layers.${i}`
    const qkv = rows.map((x) => {
      const read = normed(x, ofStream(`${at}.input_layernorm.weight`))
      return adapted(i, 'self_attn.qkv_proj', read, is('adds of what no norm has seen') ? x : read)
    })
    const part = (from: number, count: number) => qkv.map((x) => x.slice(from * headSize, (from + count) * headSize))
    const turned = (all: readonly Vector[]) => all.map((x, position) => rotate(x, headSize, position, angles))
    const [q, k] = [turned(part(0, heads)), turned(part(heads, keyHeads))]
    const v = part(heads + keyHeads, keyHeads)
    rows = rows.map((x, position) => {
      const seen = new Float64Array(heads * headSize)
      const end = is('sees nothing behind a token') ? position + 1 : rows.length
      for (let head = 0; head < heads; head++) {
        const shared = Math.floor((head * keyHeads) / heads) * headSize
        const scores = k.slice(0, end).map((key) => dotOf(q[position]!, head * headSize, key, shared, headSize))
        softmax(scores.map((score) => score / Math.sqrt(headSize))).forEach((share, other) => {
          addTimes(seen, head * headSize, share, v[other]!, shared, headSize)
        })
      }
      const y = add(x, adapted(i, 'self_attn.o_proj', seen))
      const both2 = through(
        `model.${at}.mlp.gate_up_proj`,
        normed(y, ofStream(`${at}.post_attention_layernorm.weight`)),
      )
      return add(y, adapted(i, 'mlp.down_proj', both(both2.slice(0, inner).map(silu), both2.slice(inner))))
    })
  }
  const ofWords = is('says words by the norm of the decoder') ? weights('model.norm.weight') : ofStream('norm.weight')
  const ofHeads = is('takes the norm of words for heads') ? ofStream('norm.weight') : weights('pointing.out.weight')
  const out = rows.map((x) => normed(x, ofHeads))
  const at = is('reads one token before a mark') ? marks.map((mark) => mark - 1) : marks
  return {
    heads: out.map((x) => Float64Array.from(POINTERS.flatMap((name) => [...through(`pointing.heads.${name}`, x)]))),
    nothings: at.map((mark) => product(weights('pointing.nothings'), out[mark]!)),
    words: at.map((mark) => through('model.embed_tokens', normed(rows[mark]!, ofWords))),
  }
}

const MISTAKES = [
  'sees nothing behind a token',
  'leaves out what is added',
  'leaves out what is added to self_attn.qkv_proj',
  'leaves out what is added to self_attn.o_proj',
  'leaves out what is added to mlp.down_proj',
  'takes the second factor by its rows',
  'adds of what no norm has seen',
  'takes the norms of the decoder',
  'says words by the norm of the decoder',
  'takes the norm of words for heads',
  'reads one token before a mark',
] as const

/** Several with questions, one of them longer than others are together, and one of one token and no question. */
function texts(): PointingText[] {
  const random = new Random('texts of pointing')
  const text = (length: number, marks: readonly number[]) => ({
    tokens: Array.from({ length }, () => FIRST_WORD + random.below(vocab - FIRST_WORD)),
    marks,
  })
  return [text(19, [12, 18]), text(70, [40, 41, 69]), text(1, []), text(7, [3])]
}

function storedAs({ name, shape: [rows, columns] }: TensorSpec): RawTensor[] {
  const values = plain(name)
  if (columns === undefined) {
    const halves = Uint16Array.from(values, floatToHalf)
    return [{ name, shape: [rows!], dtype: 'f16', data: new Uint8Array(halves.buffer) }]
  }
  const { codes, scales } = quantize(new Float32Array(values))
  return [
    { name: `${name}.q_weight`, shape: [rows!, columns / 8], dtype: 'u32', data: codes },
    { name: `${name}.q_scale`, shape: [rows!, columns / 32], dtype: 'f16', data: scales },
  ]
}

/** The repository; `points`: with what points in it. */
function source(points = true): WeightSource {
  const own = tensors.filter(({ name }) => points || !name.startsWith('pointing.'))
  const all = new Map(own.flatMap(storedAs).map((tensor) => [tensor.name, tensor]))
  return {
    chatConfig: {
      model_type: 'llama',
      model_config: {
        ...{ vocab_size: vocab, hidden_size: hidden, intermediate_size: inner, num_hidden_layers: SHAPE.layers },
        ...{ num_attention_heads: heads, num_key_value_heads: keyHeads, head_dim: headSize },
        ...{ rms_norm_eps: SHAPE.epsilon, position_embedding_base: SHAPE.theta, context_window_size: 512 },
        tie_word_embeddings: true,
      },
      ...(points && { pointing: { rank: RANK, head_size: POINTER_SIZE } }),
    },
    names: [...all.keys()],
    has: (name) => all.has(name),
    describe: (name) => all.get(name)!,
    read: async (name) => all.get(name)!,
    digest: 'pointing',
  }
}

export const pointing = {
  headSize: POINTER_SIZE,
  vocabulary: vocab,
  mistakes: MISTAKES,
  weights,
  numbersOf,
  texts,
  source,
}
