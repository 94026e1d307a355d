/**
 * The product with many rows of activations by matrices that a subgroup multiplies as one, which some GPUs have units for
 * (WGSL's `chromium_experimental_subgroup_matrix`). Weights become f16 with their scale, activations are those of
 * `to-half.ts`, sums are f32; or all of it is f32, where the GPU has such matrices only (Apple's).
 */

import { isBlockType } from '../../../platform/index.js'
import { cutsOf } from '../../gpu/kernels/cuts.js'
import {
  type Binding,
  eightFunction,
  isQ4,
  matrixBindings,
  matrixBuffers,
  type StoredFormat,
  storedShapeOf,
} from '../../gpu/kernels/formats.js'
import { gateFunctions } from '../../gpu/kernels/gate.js'
import { declare, type GpuTraits, type Kernel, memo, type Recorder, unrolled } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { QUARTERS, SIDE, type SubgroupMatrices } from '../../gpu/kernels/subgroup-matrices.js'
import { loadRow, type MatmulOperands, type MatmulShape, type Tile, writeToken } from './tiled.js'

/** Rows of the matrix, and of activations, of one workgroup: two parts each way. */
const TILE = 2 * SIDE
/** Columns of a step, and in eights. */
const DEEP = 32
const EIGHTS = DEEP / 8
/** Weights are so many times what they are: their codes then are no less exact down to 2^-20, and they may be up to 1023. */
const RAISED = 64
/** As sums are written: an invocation has every sixteenth row of the matrix. */
const ACROSS = 16
const WRITTEN: Tile = { rows: TILE, tokens: TILE, across: ACROSS, down: 1, heldRows: TILE / ACROSS, heldTokens: 1 }

/** Whether a matrix of this form is multiplied so. Weights in f16 and wider stay what they are. */
export function multipliesMatrices(format: StoredFormat, traits: GpuTraits): boolean {
  const able = !traits.serial && traits.matrices !== undefined && cutsOf(traits).matrices
  return able && (isQ4(format) || isBlockType(format))
}

export const matmulMatricesKernel = memo(function matmulMatricesKernel(
  shape: MatmulShape,
  unit: SubgroupMatrices,
): Kernel {
  const { format, columns } = shape
  const { M, N, K, component, lanes } = unit
  const half = component === 'f16'
  const list: Binding[] = [
    ['batch', 'u32', 'r'],
    ['x', `vec4<${component}>`, 'r'],
  ]
  if (half) list.push(['steps', 'f32', 'r'])
  list.push(...matrixBindings(format, false))
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  const threads = QUARTERS * lanes
  // Neighbouring rows of f16 begin in other banks; in f32 there is no room for it.
  const stride = half ? DEEP + 8 : DEEP
  const [down, across, deep] = [SIDE / M, SIDE / N, DEEP / K]
  const each = (line: (i: number, j: number) => string) => unrolled(down, (i) => unrolled(across, (j) => line(i, j)))
  const sum = (r: number) => `sums[ty * ${TILE}u + tx + ${ACROSS * r}u]`
  return {
    name: `matmul matrices ${format} ${shape.rows}x${columns}`,
    bindings,
    source: /* wgsl */ `
diagnostic(off, chromium.subgroup_matrix_uniformity);
${half ? 'enable f16;' : ''}
enable subgroups;
enable chromium_experimental_subgroup_matrix;
${source}
${META}
${gateFunctions(shape.gate)}
${eightFunction(format, columns)}
var<workgroup> ws: array<${component}, ${TILE * stride}>;
var<workgroup> xs: array<${component}, ${TILE * stride}>;
var<workgroup> sums: array<f32, ${TILE * TILE}>;
@compute @workgroup_size(${threads})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(local_invocation_index) index: u32,
  @builtin(subgroup_size) size: u32,
) {
  let count = ${shape.head ? 'headRows()' : 'rowCount()'};
  let token = group.y * ${TILE}u;
  // Where subgroups are smaller than they may be, there are more of them than parts.
  let part = index / size;
  let low = (part / 2u) * ${SIDE}u;
  let left = (part % 2u) * ${SIDE}u;
${each((i, j) => `  var c${i}_${j} = subgroup_matrix_result<f32, ${N}, ${M}>();`)}
  for (var k = 0u; k < ${columns / DEEP}u; k++) {
    for (var i = index; i < ${TILE * EIGHTS}u; i += ${threads}u) {
      let row = i / ${EIGHTS}u;
      let k8 = k * ${EIGHTS}u + i % ${EIGHTS}u;
      let at = row * ${stride}u + i % ${EIGHTS}u * 8u;
      let weights = eight(${loadRow(shape, WRITTEN, 'row')}, k8);
      let a = x[min(token + row, count - 1u) * ${columns / 4}u + k8 * 2u];
      let b = x[min(token + row, count - 1u) * ${columns / 4}u + k8 * 2u + 1u];
${stores('ws', half ? IN_PAIRS.map((which) => `f16(${RAISED}.0 * weights${which})`) : IN_ORDER.map((which) => `weights${which}`))}
${stores('xs', LANES.map((lane) => `a.${lane}`).concat(LANES.map((lane) => `b.${lane}`)))}
    }
    workgroupBarrier();
    if (part < ${QUARTERS}u) {
${unrolled(
  deep,
  (d) => `      {
${unrolled(down, (i) => `        let x${i} = subgroupMatrixLoad<subgroup_matrix_left<${component}, ${K}, ${M}>, row_major>(&xs, (low + ${i * M}u) * ${stride}u + ${d * K}u, ${stride}u);`)}
${unrolled(across, (j) => `        let w${j} = subgroupMatrixLoad<subgroup_matrix_right<${component}, ${N}, ${K}>, col_major>(&ws, (left + ${j * N}u) * ${stride}u + ${d * K}u, ${stride}u);`)}
${each((i, j) => `        c${i}_${j} = subgroupMatrixMultiplyAccumulate(x${i}, w${j}, c${i}_${j});`)}
      }`,
)}
    }
    workgroupBarrier();
  }
  if (part < ${QUARTERS}u) {
${each((i, j) => `    subgroupMatrixStore<row_major>(&sums, (low + ${i * M}u) * ${TILE}u + left + ${j * N}u, c${i}_${j}, ${TILE}u);`)}
  }
  workgroupBarrier();
  let tx = index % ${ACROSS}u;
  for (var ty = index / ${ACROSS}u; ty < ${TILE}u; ty += ${threads / ACROSS}u) {
${half ? `    let step = steps[min(token + ty, count - 1u)] / ${RAISED}.0;` : ''}
${writeToken(shape, WRITTEN, 0, (r) => (half ? `(${sum(r)} * step)` : sum(r)))}
  }
}`,
  }
})

const LANES = ['x', 'y', 'z', 'w']
const IN_ORDER = [0, 1].flatMap((which) => LANES.map((lane) => `[${which}].${lane}`))
/** As activations lie in f16: 0 4 1 5 2 6 3 7. */
const IN_PAIRS = LANES.flatMap((lane) => [`[0].${lane}`, `[1].${lane}`])

function stores(into: string, values: readonly string[]): string {
  return unrolled(values.length, (i) => `      ${into}[at + ${i}u] = ${values[i]};`)
}

/** `x`: the rows, and in f16 their steps. */
export function multiplyMatrices(
  pass: Recorder,
  shape: Pick<MatmulShape, 'add' | 'gated' | 'gate' | 'bias' | 'head'>,
  { matrix, bias, out }: Omit<MatmulOperands, 'x'>,
  x: readonly GPUBuffer[],
  count: number,
): void {
  const kernel = matmulMatricesKernel({ ...shape, ...storedShapeOf(matrix) }, pass.traits.matrices!)
  const buffers = [pass.meta, ...x, ...matrixBuffers(matrix), ...(bias ? [bias] : []), out]
  pass.dispatch(kernel, buffers, Math.ceil(matrix.rows / TILE), Math.ceil(count / TILE))
}
