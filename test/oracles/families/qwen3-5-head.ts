/**
 * Qwen3.5 with its head that guesses (`mtp.*`), by vLLM's and llama.cpp's definitions: of the token t + 1 and the row that
 * the model's last norm has left of token t it tells what comes after t + 1.
 */
import { type Case, matrix, norm, type TensorSpec, type Weights } from '../family.js'
import { Attention, add, product, rmsNorm, silu, type Vector } from '../float64.js'
import { QWEN35_EXPERTS, qwen35Moe, withoutMlp } from './experts.js'
import { embedding, gatedMlp, layerName } from './llama.js'
import { attend35, fullTensors, ggufFull, QWEN35_SHAPE, qwen35, qwen35Metadata, qwen35Reference } from './qwen3-5.js'

const LAYER = 'mtp.layers.0'
const { hidden, epsilon, layers } = QWEN35_SHAPE

/** What is around the layer. */
const joining: TensorSpec[] = [
  norm('mtp.pre_fc_norm_embedding.weight', hidden, 0),
  norm('mtp.pre_fc_norm_hidden.weight', hidden, 0),
  matrix('mtp.fc.weight', hidden, 2 * hidden),
  norm('mtp.norm.weight', hidden, 0),
]

export const HEAD_MISTAKES = [
  'puts the row before the token',
  'swaps the norms',
  'adds nothing to its norms',
  'takes the row before its norm',
  'takes the row of the token itself',
  'forgets what came before',
  'turns every token alike',
  'feeds as the last layer of the model',
  'tells logits before its norm',
] as const

/** What the head stands on, which none of its mistakes changes. */
export interface UnderHead {
  row(token: number, normed: boolean): Vector
}

export const underHead = (of: HeadCase, weights: Weights): UnderHead =>
  qwen35Reference(weights, undefined, undefined, (x, at) => of.within(x, weights, at))

/** A sequence that the head of a case reads too, in float64. */
export function headReference(of: HeadCase, weights: Weights, mistake?: string, model = underHead(of, weights)) {
  const within = (x: Vector, at: string) => of.within(x, weights, at)
  let cache = new Attention()
  let position = 0
  let before: Vector = new Float64Array(hidden)
  const plus = mistake === 'adds nothing to its norms' ? 0 : 1

  function guessed(token: number, row: Vector): Vector {
    if (mistake === 'forgets what came before') cache = new Attention()
    const [ofToken, ofRow] = mistake === 'swaps the norms' ? ['hidden', 'embedding'] : ['embedding', 'hidden']
    const normed = (x: Vector, name: string) => rmsNorm(x, weights(`mtp.pre_fc_norm_${name}.weight`), epsilon, plus)
    const parts = [normed(embedding(weights, token, hidden), ofToken!), normed(row, ofRow!)]
    if (mistake === 'puts the row before the token') parts.reverse()
    let x = product(weights('mtp.fc.weight'), Float64Array.from(parts.flatMap((part) => [...part])))
    const at = mistake === 'turns every token alike' ? 0 : position
    const h = rmsNorm(x, weights(`${LAYER}.input_layernorm.weight`), epsilon, 1)
    x = add(x, attend35(weights, LAYER, cache, at, h))
    const m = rmsNorm(x, weights(`${LAYER}.post_attention_layernorm.weight`), epsilon, 1)
    x = add(x, within(m, mistake === 'feeds as the last layer of the model' ? layerName(layers - 1) : LAYER))
    position++
    return mistake === 'tells logits before its norm' ? x : rmsNorm(x, weights('mtp.norm.weight'), epsilon, plus)
  }

  const logitsOf = (row: Vector) => product(weights('model.embed_tokens.weight'), row)
  return {
    /** The model reads a token; what the model says comes next. */
    step(token: number): Vector {
      const raw = mistake === 'takes the row before its norm'
      const x = model.row(token, false)
      const row = rmsNorm(x, weights('model.norm.weight'), epsilon, 1)
      guessed(token, mistake === 'takes the row of the token itself' ? row : before)
      before = raw ? x : row
      return logitsOf(row)
    },
    /** The head alone reads a token behind all that was read; what it says comes next. It reads nothing else after that. */
    guess(token: number): Vector {
      before = guessed(token, before)
      return logitsOf(before)
    },
  }
}

/** Its layer is fed as the model's are. */
export interface HeadCase extends Case {
  within(x: Vector, weights: Weights, at: string): Vector
}

const joiningGguf = (weights: Weights) =>
  [
    ['eh_proj', 'fc'],
    ['enorm', 'pre_fc_norm_embedding'],
    ['hnorm', 'pre_fc_norm_hidden'],
    ['shared_head_norm', 'norm'],
  ].map(([to, from]) => {
    const values = weights(`mtp.${from}.weight`)
    const one = to === 'eh_proj'
    const dims = one ? [2 * hidden, hidden] : [hidden]
    return { name: `blk.${layers}.nextn.${to}.weight`, dims, values: one ? values : values.map((value) => value + 1) }
  })

export const qwen35Head: HeadCase = {
  ...qwen35,
  name: 'qwen3_5 with a head that guesses',
  config: { ...qwen35.config, mtp_num_hidden_layers: 1, mtp_use_dedicated_embeddings: false },
  tensors: [...qwen35.tensors, ...joining, ...fullTensors(LAYER)],
  within: (x, weights, at) => gatedMlp(x, weights, `${at}.mlp`, silu),
  gguf: {
    architecture: 'qwen35',
    metadata(out) {
      qwen35Metadata(out, 'qwen35', layers + 1)
      out.u32('qwen35.nextn_predict_layers', 1)
    },
    tensors: (weights) => [
      ...qwen35.gguf!.tensors(weights),
      ...ggufFull(weights, LAYER, layers),
      ...joiningGguf(weights),
    ],
  },
}

/** The head has experts of its own, as every layer of the model. */
export const qwen35MoeHead: HeadCase = {
  ...qwen35Moe,
  name: 'qwen3_5_moe with a head that guesses',
  config: { ...qwen35Moe.config, mtp_num_hidden_layers: 1, mtp_use_dedicated_embeddings: false },
  tensors: [
    ...qwen35Moe.tensors,
    ...joining,
    ...fullTensors(LAYER).filter(({ name }) => !name.includes('.mlp.')),
    ...QWEN35_EXPERTS.tensors(LAYER),
  ],
  within: QWEN35_EXPERTS.run,
  gguf: {
    architecture: 'qwen35moe',
    metadata(out) {
      qwen35Metadata(out, 'qwen35moe', layers + 1)
      QWEN35_EXPERTS.metadata(out)
      out.u32('qwen35moe.nextn_predict_layers', 1)
    },
    tensors: (weights) => [
      ...qwen35Moe.gguf!.tensors(weights),
      ...ggufFull(withoutMlp(/\.mlp\./, weights), LAYER, layers).filter(({ values }) => values.length > 0),
      ...QWEN35_EXPERTS.gguf(weights, LAYER, layers),
      ...joiningGguf(weights),
    ],
  },
}
