/**
 * Products with the experts that rows go to: as those of few rows in `matvec.ts`, each workgroup with the rows of one
 * expert, whose weights are read where they lie in the matrix of all.
 */
import { isBlockType } from '../../../platform/index.js'
import type { RoutingShape } from '../../contract/tensors.js'
import { blockFunctions } from '../../gpu/kernels/blocks.js'
import { type Binding, matrixBindings, type StoredShape } from '../../gpu/kernels/formats.js'
import { declare, type GpuTraits, type Kernel, MOST_GROUPS, memo, unrolled } from '../../gpu/kernels/kernel.js'
import { accumulators, inWords, isScaled, loads, scaledSum, step } from '../../gpu/kernels/matvec.js'
import { cut, type MatvecShape } from '../../gpu/kernels/matvec-cut.js'
import { finish, roomOf } from '../../gpu/kernels/matvec-finish.js'
import { routingLists } from '../../gpu/kernels/routing.js'
import { enableSubgroups } from '../../gpu/kernels/subgroup.js'

interface ExpertMatmulShape {
  readonly stored: StoredShape
  readonly routing: Pick<RoutingShape, 'rows' | 'chosen'>
  /** Places of a tile. */
  readonly tokens: number
  /** Columns of a row of x, and of out. */
  readonly strides: { readonly x: number; readonly out: number }
  /** Rows of the matrix that are an expert's, the first of the first one's, and from one's to the next's. */
  readonly rows: number
  readonly first: number
  readonly every: number
  /** Columns of out before them. */
  readonly to: number
  readonly from: 'rows' | 'places'
  readonly bias: boolean
}

export const expertMatmulKernel = memo(function expertMatmulKernel(
  shape: ExpertMatmulShape,
  traits: GpuTraits,
): Kernel {
  const { stored, tokens, strides, rows, first, every, to } = shape
  const { format, columns } = stored
  // What stands in the matrix as a whole stands in `out` between others.
  const product: MatvecShape = {
    ...{ format, columns, rows, first: to, of: strides.out, tokens, add: false, gated: false, head: false },
    ...{ bias: shape.bias, biasFrom: `biasFrom` },
  }
  const work = cut({ format, columns, of: rows, tokens }, traits)
  const { lanes, groups, near, held, threads, unit } = work
  const list: Binding[] = [
    ['routing', 'u32', 'r'],
    ['x', 'vec4<f32>', 'r'],
    ...matrixBindings(format, !inWords(stored, work)),
  ]
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  const { tiles, rowOf } = routingLists(shape.routing)
  const rowAt = (place: string) => (shape.from === 'rows' ? `routing[${rowOf}u + ${place}]` : place)
  return {
    name: `expertMatmul ${format} ${rows}x${columns} by ${tokens}`,
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${isBlockType(format) ? blockFunctions(format, columns) : ''}
${roomOf(product, work)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
  if (group.z >= routing[0]) { return; }
  let tile = routing[${tiles}u + 2u * group.z];
  let token = routing[${tiles}u + 2u * group.z + 1u];
  let count = token + (tile >> 16u);
  let whole = ${first}u + (tile & 0xffffu) * ${every}u;
  // Those of other experts lie in another part of the matrix.
  let base = whole - ${stored.first}u;
  if (base >= ${stored.rows}u) { return; }
  let biasFrom = whole - ${to}u;
  let lane = index % ${lanes}u;
  let first = ((group.x + group.y * ${MOST_GROUPS}u) * ${groups}u + index / ${lanes}u) * ${held}u;
${unrolled(held, (r) => `  let row${r} = base + min(first + ${r}u, ${rows - 1}u);`)}
${unrolled(tokens, (t) => `  let x${t} = ${rowAt(`min(token + ${t}u, count - 1u)`)} * ${strides.x / 4}u;`)}
${accumulators(tokens, held, false)}
  for (var u = lane; u < ${columns / unit}u; u += ${lanes}u) {
${loads(product, work)}
${unrolled(unit / 8, (i) => step(product, work, i))}
${isScaled(format) ? unrolled(tokens, (t) => unrolled(held, (r) => `    a${r}_${t} += ${scaledSum(product, r, t)};`)) : ''}
  }
${finish(product, work)}
}`,
  }
})
