import { type Activations, type Matrix, Q4_BLOCK, type Vector } from '../../contract/tensors.js'
import {
  atLeast,
  type BandOfMatrix,
  type BatchShape,
  bothHave,
  type CpuRecorder,
  defineOperation,
  type Gate,
  gateCode,
  PRODUCT,
  type Prepared,
  type RmsNorm,
} from '../define.js'
import { dispatchProduct } from './kernel.js'

export interface MatmulOptions {
  /** Rows of `x`. @default all rows of the pass */
  readonly rows?: number
  readonly norm?: RmsNorm | undefined
  readonly bias?: Vector | undefined
  /** out += instead of out =. Not with `gated`. */
  readonly add?: boolean
  /**
   * The matrix holds gates in its first half and values in its second: out = silu(gate) * value, half as many columns.
   * @default false
   */
  readonly gated?: boolean
  /** What a gate goes through. @default 'silu' */
  readonly gate?: Gate | undefined
}

/** Gates and values of a gated product that a thread computes before it joins them; one item of all tokens may take more. */
export const GATED_ROOM = 16384
/** Groups of eight rows whose results make a line of memory. */
const GROUPS_OF_LINE = 2

/** out = W x. `out` has as many columns as the matrix has rows (half as many if gated), `x` as it has columns. */
export const matmul = defineOperation({
  name: 'matmul',
  fit(
    batch: BatchShape,
    matrix: Matrix,
    x: Activations,
    out: Activations,
    { rows = batch.rows, gated = false, add = false }: MatmulOptions = {},
  ) {
    if (gated && add) throw new RangeError('A gated projection cannot be added.')
    atLeast('Columns to project from', x.columns, matrix.columns)
    atLeast('Columns to project into', out.columns, gated ? matrix.rows / 2 : matrix.rows)
    bothHave('Rows to project', x, out, rows)
  },
  kernels: ['matvec', 'matmul', 'norm', 'toHalf', 'toPacked'],
  gpu(pass, matrix, x, out, { rows, norm, bias, add = false, gated = false, gate = 'silu' } = {}) {
    const { count, head } = pass.counted(rows)
    pass.weigh(matrix.rows * matrix.columns * count)
    const facts = [x, out, count, head, add, gated, gate, bias, norm?.weight, norm?.epsilon]
    pass.repeat(matrix, facts, () => {
      const gain = norm && { gain: pass.buffer(norm.weight), epsilon: norm.epsilon }
      const job = { count, head, add, gated, gate, bias: bias && pass.buffer(bias), norm: gain }
      dispatchProduct(pass, matrix, x, out, job)
    })
  },
  // `unpacked`: room for a group of rows, `unpackedGap` for each thread; `xGap`: from one thread's x to the next's. Items:
  // groups of eight rows.
  fields: {
    ...PRODUCT,
    ...{ add: 'bool', bias: 'pointer', unpacked: 'pointer', unpackedGap: 'pointer', xGap: 'pointer' },
  },
  others: {
    // Product, activation and rounding in one. `y` has half as many columns as the matrix rows; `room` begins with
    // `unpackedBytes`. Items: 32 columns.
    gated: {
      ...PRODUCT,
      ...{ prepared: 'pointer', preparedStride: 'pointer', preparedKind: 'i32', room: 'pointer', roomGap: 'pointer' },
      ...{ unpackedBytes: 'pointer', xGap: 'pointer', gate: 'i32' },
    },
    // `x` is packed: gates, then values. Items: rows.
    activate: {
      ...{ x: 'pointer', out: 'pointer', outStride: 'pointer', columns: 'i32', prepared: 'pointer' },
      ...{ preparedKind: 'i32', gate: 'i32' },
    },
  },
  cpu(pass, matrix, x, out, { rows = pass.rows, norm, bias, add = false, gated = false, gate = 'silu' } = {}) {
    const bands = pass.bands(matrix, rows)
    const [band] = bands
    const alone = bands.length === 1 ? band : undefined
    const { columns } = matrix
    if (!gated) {
      const to = {
        columns,
        tokens: rows,
        y: pass.at(out),
        yStride: pass.stride(out),
        add,
        bias: bias ? pass.at(bias) : 0,
      }
      if (!alone) return multiplied(pass, bands, x, norm, to)
      return multiply(pass, alone, pass.prepared(x, columns, alone.form, rows, { norm }), to)
    }
    const width = matrix.rows / 2
    if (alone && !bias && width % Q4_BLOCK === 0) {
      const input = pass.prepared(x, matrix.columns, alone.form, rows, { norm })
      const room = pass.perThread(alone.roomBytes + Math.max(GATED_ROOM, rows * 2 * Q4_BLOCK * 4))
      const args = {
        kind: alone.kind,
        matrix: alone.at,
        x: input.at,
        xStride: input.stride,
        xGap: input.gap,
        columns,
        tokens: rows,
        y: pass.at(out),
        yStride: pass.stride(out),
        rows: width,
        gate: gateCode(gate),
        prepared: 0,
        preparedStride: 0,
        preparedKind: 0,
        room: room.at,
        roomGap: room.stride,
        unpackedBytes: alone.roomBytes,
      }
      return { of: 'gated', args, items: width / Q4_BLOCK, fills: out }
    }
    const [halves, stride] = [pass.scratch(out, matrix.rows * 4), matrix.rows * 4]
    const to = { columns, tokens: rows, y: halves, yStride: stride, add: false, bias: bias ? pass.at(bias) : 0 }
    const args = {
      x: halves,
      out: pass.at(out),
      outStride: pass.stride(out),
      columns: width,
      gate: gateCode(gate),
      prepared: 0,
      preparedKind: 0,
    }
    const products = multiplied(pass, bands, x, norm, to)
    return [...products, { of: 'activate', args, items: rows, values: rows * width, fills: out } as const]
  },
  cost(batch, matrix, _x, _out, { rows = batch.rows } = {}) {
    return { weights: matrix.bytes, multiplications: matrix.rows * matrix.columns * rows }
  },
})

/** Where a product goes, of so many rows of activations. */
interface ProductOut {
  readonly columns: number
  readonly tokens: number
  readonly y: number
  readonly yStride: number
  readonly add: boolean
  readonly bias: number
}

/** What a thread prepares for itself lasts until the next operation: bands come after all that they are multiplied with. */
function multiplied(
  pass: CpuRecorder,
  bands: readonly BandOfMatrix[],
  x: Activations,
  norm: RmsNorm | undefined,
  out: ProductOut,
) {
  const shared = bands.length > 1
  const inputs = new Map<number, Prepared>()
  for (const { form } of bands) {
    if (!inputs.has(form)) inputs.set(form, pass.prepared(x, out.columns, form, out.tokens, { norm, shared }))
  }
  return bands.map((band) => multiply(pass, band, inputs.get(band.form)!, out))
}

function multiply(pass: CpuRecorder, band: BandOfMatrix, x: Prepared, out: ProductOut) {
  const { kind, at, first, rows, groups, groupBytes } = band
  const unpacked = pass.perThread(band.roomBytes)
  const args = {
    kind,
    matrix: at,
    x: x.at,
    xStride: x.stride,
    xGap: x.gap,
    rows,
    columns: out.columns,
    tokens: out.tokens,
    add: out.add,
    y: out.y + 4 * first,
    yStride: out.yStride,
    bias: out.bias && out.bias + 4 * first,
    unpacked: unpacked.at,
    unpackedGap: unpacked.stride,
  }
  const values = out.tokens * groups * groupBytes
  return { args, items: groups, values, least: Math.ceil(4096 / groupBytes), unit: GROUPS_OF_LINE }
}
