import type { Activations, Matrix, Routing, Vector } from '../../contract/tensors.js'
import { matrixBuffers, storedShapeOf } from '../../gpu/kernels/formats.js'
import { MOST_GROUPS } from '../../gpu/kernels/kernel.js'
import { cut } from '../../gpu/kernels/matvec-cut.js'
import { tilesOf } from '../../gpu/kernels/routing.js'
import { atLeast, type BandOfMatrix, type BatchShape, defineOperation, GROUP, PRODUCT } from '../define.js'
import { expertMatmulKernel } from './kernel.js'

/** Groups of eight rows of an expert that make an item. */
export const EXPERT_GROUPS = 4

/** Products with the experts that rows go to, whose matrices lie one below the other. */
export interface ExpertMatmulOptions {
  /** As in `TopKExpertsOptions`. */
  readonly rows?: number
  /** `rows`: x has the rows themselves; `places`: a row for each place, as `out` has. */
  readonly from: 'rows' | 'places'
  /** The matrix has the first halves of all experts before their second halves. @default each expert's rows lie together */
  readonly halves?: boolean | undefined
  /** Lies as the matrix's rows do. */
  readonly bias?: Vector | undefined
}

/** out[place] = W x of the place's expert, as wide as its part of the matrix has rows, a multiple of 32. */
export const expertMatmul = defineOperation({
  name: 'expertMatmul',
  fit(
    batch: BatchShape,
    matrix: Matrix,
    x: Activations,
    out: Activations,
    { shape }: Routing,
    { rows = batch.rows, from }: ExpertMatmulOptions,
  ) {
    const places = rows * shape.chosen
    atLeast('Columns to project from', x.columns, matrix.columns)
    atLeast('Columns to project into', out.columns, matrix.rows / shape.experts)
    atLeast('Rows to project', x.rows, from === 'rows' ? rows : places)
    atLeast('Places to project into', out.rows, places)
  },
  gpu(pass, matrix, x, out, routing, { rows: wanted, from, halves, bias }) {
    const { rows: most, experts, chosen } = routing.shape
    const { count } = pass.counted(wanted)
    pass.weigh((matrix.rows / experts) * chosen * matrix.columns * count)
    const { held: tokens, most: tiles } = tilesOf({ experts, chosen }, count, pass.traits.serial)
    const pieces = halves ? 2 : 1
    const rows = matrix.rows / experts / pieces
    const strides = { x: x.columns, out: out.columns }
    for (let piece = 0; piece < pieces; piece++) {
      const first = piece * experts * rows
      for (const part of pass.parts(matrix)) {
        if (part.first >= first + experts * rows || part.first + part.rows <= first) continue
        const shape = {
          ...{
            stored: storedShapeOf(part),
            routing: { rows: most, chosen },
            tokens,
            strides,
            rows,
            first,
            every: rows,
          },
          to: piece * rows,
          from,
          bias: bias !== undefined,
        }
        const { groups, held } = cut({ format: part.format, columns: part.columns, of: rows, tokens }, pass.traits)
        const workgroups = Math.ceil(rows / (held * groups))
        const added = bias ? [pass.buffer(bias)] : []
        const buffers = [pass.buffer(routing), pass.buffer(x), ...matrixBuffers(part), ...added, pass.buffer(out)]
        const kernel = expertMatmulKernel(shape, pass.traits)
        pass.dispatch(kernel, buffers, Math.min(workgroups, MOST_GROUPS), Math.ceil(workgroups / MOST_GROUPS), tiles)
      }
    }
  },
  // Of each expert with rows `rows` of the matrix's, from group `first` + its number * `every` on; x has a row for each
  // place. Items: `EXPERT_GROUPS` groups of eight rows of each of as many experts as may have rows.
  fields: {
    ...PRODUCT,
    ...{ active: 'pointer', list: 'pointer', firsts: 'pointer', first: 'i32', every: 'i32', bias: 'pointer' },
    ...{ unpacked: 'pointer', unpackedGap: 'pointer' },
  },
  *cpu(pass, matrix, x, out, routing, { rows = pass.rows, from, halves = false, bias }) {
    const { experts, chosen } = routing.shape
    const parts = halves ? 2 : 1
    const own = matrix.rows / experts / parts
    const { active, list, firsts } = pass.routing(routing)
    const items = Math.min(experts, rows * chosen) * Math.ceil(own / GROUP / EXPERT_GROUPS)
    const inputs = new Map<number, { readonly at: number; readonly stride: number }>()
    for (let part = 0; part < parts; part++) {
      const first = part * experts * own
      const { form, ...band } = bandWith(pass.bands(matrix, rows), first, experts * own)
      const unpacked = pass.perThread(band.roomBytes)
      const input = inputs.get(form) ?? pass.atPlaces(x, matrix.columns, form, rows, from, routing)
      inputs.set(form, input)
      const args = {
        kind: band.kind,
        matrix: band.at,
        x: input.at,
        xStride: input.stride,
        y: pass.at(out) + 4 * part * own,
        yStride: pass.stride(out),
        rows: own,
        columns: matrix.columns,
        tokens: rows * chosen,
        active,
        list,
        firsts,
        first: (first - band.first) / GROUP,
        every: own / GROUP,
        bias: bias ? pass.at(bias) + 4 * band.first : 0,
        unpacked: unpacked.at,
        unpackedGap: unpacked.stride,
      }
      yield { args, items }
    }
  },
  cost(batch, matrix, _x, _out, { shape: { experts, chosen } }, { rows = batch.rows }) {
    const places = rows * chosen
    return {
      // Of as many experts as may be chosen.
      weights: (matrix.bytes / experts) * Math.min(experts, places),
      multiplications: (matrix.rows / experts) * matrix.columns * places,
    }
  },
})

/** The band that has these rows, and all of them: experts' halves lie in one. */
function bandWith(bands: readonly BandOfMatrix[], first: number, rows: number): BandOfMatrix {
  const band = bands.find((each) => each.first <= first && first + rows <= each.first + each.rows)
  if (!band) throw new TypeError('The matrices of experts, or their halves, have rows of one form.')
  return band
}
