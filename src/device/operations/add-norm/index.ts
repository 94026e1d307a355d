import type { Activations, Vector } from '../../contract/tensors.js'
import { atLeast, type BatchShape, bothHave, defineOperation, type Gate, gateCode, type RmsNorm } from '../define.js'
import { addNormKernel } from './kernel.js'

/** What sets a layer's norm apart from that of the root mean square. */
export interface Centring {
  /** Of x - mean(x). */
  readonly centred?: boolean | undefined
  /** Added last. */
  readonly bias?: Vector | undefined
}

export interface AddNormOptions {
  /** @default all rows of the pass */
  readonly rows?: number
  /** As in `MatmulOptions`, over the columns that are read; or one that takes the mean away first. */
  readonly norm?: (RmsNorm & Centring) | undefined
  /** @default 1 */
  readonly scale?: number
  /** out += instead of out =. */
  readonly add?: boolean
  /** Each value goes through it. */
  readonly gate?: Gate | undefined
  /** A value x becomes cap * tanh(x / cap), last. */
  readonly cap?: number | undefined
  /** Only so many columns of each row, from the first on; multiples of 4. @default all */
  readonly from?: number
  /** The first of them in `out`, a multiple of 4. @default `from` */
  readonly into?: number
  readonly columns?: number
  /** Each so many of them are normed by themselves; a divisor of them, and a multiple of 4. @default all together */
  readonly every?: number | undefined
  /** One value, by which what is then in `out` is multiplied. */
  readonly total?: Vector | undefined
}

/** out = x * scale, normed first if asked. `out` may be `x`, but is not added to then. */
export const addNorm = defineOperation({
  name: 'addNorm',
  fit(
    batch: BatchShape,
    x: Activations,
    out: Activations,
    { rows = batch.rows, from = 0, into = from, columns = x.columns }: AddNormOptions,
  ) {
    atLeast('Columns to add or norm', x.columns, from + columns)
    atLeast('Columns to add or norm into', out.columns, into + columns)
    bothHave('Rows to add or norm', x, out, rows)
  },
  gpu(pass, x, out, options) {
    const { rows = pass.rows, norm, scale = 1, add = false, gate, cap, from = 0, columns = x.columns } = options
    const { every = columns, total, into = from } = options
    const within = x === out
    const shape = {
      strides: [x.columns, out.columns] as const,
      columns: every,
      from,
      into,
      scale,
      add,
      within,
      ...(norm && { epsilon: norm.epsilon }),
      ...(norm?.centred && { centred: true }),
      ...(norm?.bias && { bias: true }),
      ...(gate && { gate }),
      ...(cap && { cap }),
      ...(total && { total: true }),
    }
    const vectors = [norm?.weight, norm?.bias, total].filter((vector) => vector !== undefined)
    const buffers = [out, ...(within ? [] : [x]), ...vectors].map((tensor) => pass.buffer(tensor))
    pass.dispatch(addNormKernel(shape, pass.traits), buffers, rows, columns / every)
  },
  // `columns`: of each of a row's `parts`; `weight`: 0 is no norm; `bias`, `total`: 0 or where; `cap`: 0 is none. Items: rows.
  fields: {
    ...{ x: 'pointer', xStride: 'pointer', weight: 'pointer', out: 'pointer', outStride: 'pointer', columns: 'i32' },
    ...{ epsilon: 'f32', scale: 'f32', add: 'bool', cap: 'f32', centred: 'bool', bias: 'pointer', gate: 'i32' },
    ...{ parts: 'i32', total: 'pointer' },
  },
  cpu(pass, x, out, options) {
    const { rows = pass.rows, norm, scale = 1, add = false, gate, cap = 0 } = options
    const { from = 0, into = from, columns = x.columns, every = columns, total } = options
    const args = {
      x: pass.at(x) + from * 4,
      xStride: pass.stride(x),
      columns: every,
      parts: columns / every,
      out: pass.at(out) + into * 4,
      outStride: pass.stride(out),
      scale,
      add,
      cap,
      weight: norm ? pass.at(norm.weight) : 0,
      epsilon: norm?.epsilon ?? 0,
      centred: norm?.centred === true,
      bias: norm?.bias ? pass.at(norm.bias) : 0,
      total: total ? pass.at(total) : 0,
      gate: gate ? gateCode(gate) : 0,
    }
    return { args, items: rows, values: rows * columns }
  },
})
