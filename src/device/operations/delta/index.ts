import type { Activations, States, Vector } from '../../contract/tensors.js'
import { atLeast, type BatchShape, defineOperation, stateFits } from '../define.js'
import { columnsOf, deltaKernel, deltaOutKernel } from './kernel.js'

/** The gated delta rule of Qwen3.5. A row of x has heads of queries, as many of keys, then those of values. */
export interface DeltaOptions {
  /** Heads of queries, and of keys. */
  readonly keyHeads: number
  /** A multiple of them: value head j goes with key head j / (valueHeads / keyHeads), or j % keyHeads if `tiled`. */
  readonly valueHeads: number
  readonly tiled?: boolean | undefined
  /** Multiples of 16. */
  readonly keySize: number
  readonly valueSize: number
  /** For each value head b, of how much is learned, then a, of how much is forgotten. */
  readonly rates: Activations
  /** Of each value head, the factor and the summand of a: e^(speed * softplus(a + delay)) is what stays. */
  readonly speed: Vector
  readonly delay: Vector
  /** Of each head of the result. */
  readonly norm: { readonly weight: Vector; readonly epsilon: number }
  /** The result is multiplied with silu of these columns, from `gatesFrom` on. */
  readonly gates: Activations
  readonly gatesFrom: number
}

/**
 * For each value head a matrix S of [keySize][valueSize], state `index`, and for each row q and k, both of length one, q
 * times keySize ** -0.5: S is multiplied with what stays; u = (v - S' k) * sigmoid(b); S += k u'; out = S' q, normed and
 * gated.
 */
export const delta = defineOperation({
  name: 'delta',
  fit(batch: BatchShape, x: Activations, states: States, index: number, out: Activations, options: DeltaOptions) {
    const { keyHeads, valueHeads, keySize, valueSize, rates, gates, gatesFrom } = options
    const columns = valueHeads * valueSize
    atLeast('Columns of queries, keys and values', x.columns, 2 * keyHeads * keySize + columns)
    atLeast('Columns of rates', rates.columns, 2 * valueHeads)
    atLeast('Columns of gates', gates.columns, gatesFrom + columns)
    atLeast('Columns of a delta rule', out.columns, columns)
    stateFits(batch, states, index, keySize * columns)
  },
  gpu(pass, x, states, index, out, options) {
    const { keyHeads, valueHeads, keySize, valueSize, tiled = false, norm, gates, gatesFrom, rates } = options
    const strides = { x: x.columns, rates: rates.columns, gates: gates.columns, out: out.columns }
    const heads = { keyHeads, valueHeads, keySize, valueSize, tiled, size: states.shape.sizes[index]! }
    const shape = { ...heads, gatesFrom, strides, epsilon: norm.epsilon }
    const given = [x, rates, options.speed, options.delay].map((tensor) => pass.buffer(tensor))
    const buffers = [pass.meta, ...given, pass.state(states, index), pass.buffer(out)]
    pass.dispatch(deltaKernel(shape), buffers, valueSize / columnsOf(shape), valueHeads, pass.spans)
    const last = [norm.weight, gates, out].map((tensor) => pass.buffer(tensor))
    pass.dispatch(deltaOutKernel(shape, pass.traits), last, pass.rows * valueHeads)
  },
  // `room`: for queries, keys and factors of every row of the longest span. Items: a head of values of a span.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', rates: 'pointer', ratesStride: 'pointer', out: 'pointer' },
    ...{ outStride: 'pointer', gates: 'pointer', gatesStride: 'pointer', keyHeads: 'i32', valueHeads: 'i32' },
    ...{ tiled: 'bool', keySize: 'i32', valueSize: 'i32', speed: 'pointer', delay: 'pointer', weight: 'pointer' },
    ...{ epsilon: 'f32', state: 'pointer', slotBytes: 'pointer', spans: 'pointer', room: 'pointer' },
    roomGap: 'pointer',
  },
  cpu(pass, x, states, index, out, { rates, gates, gatesFrom, speed, delay, norm, tiled = false, ...sizes }) {
    const { keyHeads, valueHeads, keySize, valueSize } = sizes
    const longest = Math.max(...pass.spans.map(({ tokens }) => tokens.length))
    const { at: room, stride: roomGap } = pass.perThread(longest * (2 * keySize * 4 + 48))
    const args = {
      x: pass.at(x),
      xStride: pass.stride(x),
      out: pass.at(out),
      outStride: pass.stride(out),
      rates: pass.at(rates),
      ratesStride: pass.stride(rates),
      gates: pass.at(gates) + gatesFrom * 4,
      gatesStride: pass.stride(gates),
      keyHeads,
      valueHeads,
      tiled,
      keySize,
      valueSize,
      speed: pass.at(speed),
      delay: pass.at(delay),
      weight: pass.at(norm.weight),
      epsilon: norm.epsilon,
      spans: pass.spanWords,
      room,
      roomGap,
      ...pass.state(states, index),
    }
    return { args, items: pass.spans.length * valueHeads }
  },
})
