/** d1-omni: LFM2 that sees both ways, its convolutions as far ahead as back, and a head that scores options at their marks. */

import { FULL, KERNEL, LFM2_SHAPE, lfm2 } from '../families/lfm2.js'
import { embedding, layerName, llamaMetadata } from '../families/llama.js'
import type { Case, Weights } from '../family.js'
import { add, both, frequencies, normHeads, product, rmsNorm, rotate, silu, type Vector } from '../float64.js'
import { Random } from '../random.js'
import { HEAD_LAYERS, HEAD_MISTAKES, headGguf, headScores, headTensors, KINDS, type LayaInput } from './laya.js'
import { attended } from './modern-bert.js'

const { hidden, layers, heads, keyHeads, headSize, inner, theta, epsilon } = LFM2_SHAPE

/** The last layer's rows, one for each token, behind the last norm. */
function rowsOf(weights: Weights, tokens: readonly number[], mistake?: string): Vector[] {
  const angles = frequencies(theta, headSize)
  const normed = (rows: readonly Vector[], name: string) => rows.map((x) => rmsNorm(x, weights(name), epsilon))
  const perHead = heads / keyHeads

  function convolve(i: number, rows: readonly Vector[]): Vector[] {
    const of = (name: string) => weights(`${layerName(i)}.conv.${name}.weight`)
    const parts = rows.map((h) => {
      const all = product(of('in_proj'), h)
      return [0, 1, 2].map((part) => all.slice(part * hidden, (part + 1) * hidden)) as [Vector, Vector, Vector]
    })
    const inputs = parts.map(([b, , x]) => both(b, x))
    const behind = mistake === 'sees nothing ahead in its convolutions' ? KERNEL - 1 : (KERNEL - 1) / 2
    return parts.map(([, c], at) => {
      const mixed = c.map((_, channel) => {
        let sum = 0
        for (let tap = 0; tap < KERNEL; tap++) {
          const input = inputs[at - behind + tap]
          if (input) sum += input[channel]! * of('conv')[channel * KERNEL + tap]!
        }
        return sum
      })
      return product(of('out_proj'), both(c, mixed))
    })
  }

  function attend(i: number, rows: readonly Vector[]): Vector[] {
    const of = (name: string) => weights(`${layerName(i)}.self_attn.${name}.weight`)
    const turned = (name: string) =>
      rows.map((h, position) =>
        rotate(
          normHeads(product(of(`${name}_proj`), h), headSize, of(`${name}_layernorm`), epsilon),
          headSize,
          position,
          angles,
        ),
      )
    const repeated = (rows: readonly Vector[]) =>
      rows.map((row) =>
        Float64Array.from({ length: heads * headSize }, (_, at) => {
          const head = Math.floor(Math.floor(at / headSize) / perHead)
          return row[head * headSize + (at % headSize)]!
        }),
      )
    const values = rows.map((h) => product(of('v_proj'), h))
    const seen = attended(
      [turned('q'), repeated(turned('k')), repeated(values)],
      headSize,
      (position, other) => mistake !== 'sees nothing ahead in its attention' || other <= position,
    )
    return seen.map((row) => product(of('out_proj'), row))
  }

  let rows: Vector[] = tokens.map((token) => embedding(weights, token, hidden))
  for (let i = 0; i < layers; i++) {
    const of = (name: string) => `${layerName(i)}.${name}.weight`
    const read = normed(rows, of('operator_norm'))
    const mixed = FULL.includes(i) ? attend(i, read) : convolve(i, read)
    rows = rows.map((x, at) => {
      const y = add(x, mixed[at]!)
      const m = rmsNorm(y, weights(of('ffn_norm')), epsilon)
      const gate = product(weights(of('feed_forward.w1')), m).map(silu)
      return add(y, product(weights(of('feed_forward.w2')), both(gate, product(weights(of('feed_forward.w3')), m))))
    })
  }
  return mistake === 'forgets the last norm of the encoder' ? rows : normed(rows, 'model.embedding_norm.weight')
}

export const d1Omni = {
  ...lfm2,
  name: 'd1-omni',
  tensors: [...lfm2.tensors, ...headTensors(hidden)],
  mistakes: [
    'sees nothing ahead in its convolutions',
    'sees nothing ahead in its attention',
    'forgets the last norm of the encoder',
    ...HEAD_MISTAKES,
  ],
  /** A score for each mark. */
  scores: (weights: Weights, input: LayaInput, mistake?: string): Vector =>
    headScores(weights, rowsOf(weights, input.tokens, mistake), input, hidden, mistake),
  gguf: {
    ...lfm2.gguf!,
    /** The head's layers are counted as the last ones; what they are is told of each layer. */
    metadata(out) {
      const of = (own: (layer: number) => number, head: number) =>
        Array.from({ length: layers + HEAD_LAYERS }, (_, i) => (i < layers ? own(i) : head))
      const shape = { ...LFM2_SHAPE, layers: layers + HEAD_LAYERS }
      llamaMetadata(out, 'lfm2', shape, {
        keyHeads: of((i) => (FULL.includes(i) ? keyHeads : 0), heads),
        inner: of(() => inner, 4 * hidden),
      })
      out.u32('lfm2.shortconv.l_cache', KERNEL)
      out.flag('lfm2.attention.causal', false)
      out.float('lfm2.attention.layer_norm_epsilon', 1e-5)
      out.u32('lfm2.decision.block_count', HEAD_LAYERS)
      out.float('lfm2.decision.temperature.choice', 1.5)
      out.float('lfm2.decision.temperature.choice.3_5', 1.25)
      out.float('lfm2.decision.temperature.noul', 2)
      out.u32('tokenizer.ggml.token_type_count', KINDS.length)
    },
    tensors: (weights) => [...lfm2.gguf!.tensors(weights), ...headGguf(weights, hidden, layers)],
  },
} satisfies Case & { scores: unknown }

/** Questions of made-up words, and of all kinds. */
export function omniInputs(): LayaInput[] {
  const random = new Random('questions of d1-omni')
  const words = (count: number) => Array.from({ length: count }, () => 300 + random.below(300))
  return [3, 2, 5].map((options, i) => {
    const tokens = words(12 + 9 * i)
    const marks = Array.from({ length: options }, () => {
      const at = tokens.length
      tokens.push(7, ...words(1 + random.below(4)))
      return at
    })
    return { tokens: [...tokens, ...words(2)], marks, kind: i % KINDS.length }
  })
}
