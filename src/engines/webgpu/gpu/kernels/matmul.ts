/**
 * The product of a matrix with many rows of activations: what prompts are made of. A workgroup computes 64 rows of the
 * matrix by 64 rows of activations, 32 columns at a time through shared memory.
 */
import {
  type Binding,
  eightFunction,
  matrixBindings,
  matrixBuffers,
  type StoredMatrix,
  type StoredShape,
  shapeOf,
} from './formats.js'
import { type Gate, gateFunctions, gateOf } from './gate.js'
import { declare, type Kernel, memo, type Recorder, repeat } from './kernel.js'
import { META } from './meta.js'

export interface MatmulShape extends StoredShape {
  readonly bias: boolean
  readonly add: boolean
  readonly gated: boolean
  /** What a gate goes through. @default 'silu' */
  readonly gate?: Gate
  readonly head: boolean
}

/** Rows of the matrix, and of activations, of one workgroup. */
export const TILE = 64
/** Columns of one step through shared memory, in vectors of four. */
const QUADS = 8

export const matmulKernel = memo(function matmulKernel(shape: MatmulShape): Kernel {
  const { format, columns } = shape
  const list: Binding[] = [['batch', 'u32', 'r'], ['x', 'vec4<f32>', 'r'], ...matrixBindings(format, false)]
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  return {
    name: `matmul ${format} ${shape.rows}x${columns}`,
    bindings,
    source: /* wgsl */ `
${source}
${META}
${gateFunctions(shape.gate)}
${eightFunction(format, columns)}
var<workgroup> ws: array<vec4<f32>, ${QUADS * TILE}>;
var<workgroup> xs: array<vec4<f32>, ${QUADS * TILE}>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
${tileSetup(shape)}
  for (var k = 0u; k < ${Math.ceil(columns / 32)}u; k++) {
    let k8 = k * 4u + part;
    let at = part * ${2 * TILE}u + index / 4u;
    if (k8 < ${columns / 8}u) {
      let values = eight(loadRow, k8);
      ws[at] = values[0];
      ws[at + ${TILE}u] = values[1];
      xs[at] = x[loadToken * ${columns / 4}u + k8 * 2u];
      xs[at + ${TILE}u] = x[loadToken * ${columns / 4}u + k8 * 2u + 1u];
    } else {
      ws[at] = vec4<f32>();
      ws[at + ${TILE}u] = vec4<f32>();
      xs[at] = vec4<f32>();
      xs[at + ${TILE}u] = vec4<f32>();
    }
    workgroupBarrier();
    for (var q = 0u; q < ${QUADS}u; q++) {
${repeat(4, (r) => `      let p${r} = ws[q * ${TILE}u + tx + ${16 * r}u];`)}
${repeat(4, (t) => `      let y${t} = xs[q * ${TILE}u + ty + ${16 * t}u];`)}
${repeat(4, (r) => repeat(4, (t) => `      a${r}_${t} += dot(p${r}, y${t});`))}
    }
    workgroupBarrier();
  }
${repeat(4, (t) => writeToken(shape, t, (r) => `a${r}_${t}`))}
}`,
  }
})

/** Where an invocation stands in its tile, what it loads, and the sixteen sums that it holds. */
export function tileSetup(shape: MatmulShape): string {
  return `  let tx = index % 16u;
  let ty = index / 16u;
  let count = ${shape.head ? 'headRows()' : 'rowCount()'};
  let token = group.y * ${TILE}u;
  let loadRow = ${loadRow(shape)};
  let loadToken = min(token + index / 4u, count - 1u);
  let part = index % 4u;
${repeat(4, (r) => repeat(4, (t) => `  var a${r}_${t} = 0.0;`))}`
}

/** Gated: the first 32 rows of a tile are gates, the others their values. */
function loadRow({ rows, gated }: MatmulShape): string {
  if (!gated) return `min(group.x * ${TILE}u + index / 4u, ${rows - 1}u)`
  const half = rows / 2
  return `select(0u, ${half}u, index >= 128u) + min(group.x * ${TILE / 2}u + (index / 4u) % ${TILE / 2}u, ${half - 1}u)`
}

/** `sum`: the finished sum of a held row of the matrix. */
export function writeToken(shape: MatmulShape, t: number, sum: (r: number) => string): string {
  const { rows, gated, first, of } = shape
  const own = gated ? rows / 2 : rows
  const width = gated ? of / 2 : of
  const outputs = gated ? 2 : 4
  const bias = (row: string) => (shape.bias ? ` + bias[${row}]` : '')
  const one = (r: number) => {
    const value = gated
      ? `let gate = ${sum(r)}${bias(`row + ${first}u`)};
      out[at] = ${gateOf(shape.gate)} * (${sum(r + 2)}${bias(`row + ${first + width}u`)});`
      : `out[at] ${shape.add ? '+=' : '='} ${sum(r)}${bias(`row + ${first}u`)};`
    return `  {
    let row = group.x * ${gated ? TILE / 2 : TILE}u + tx + ${16 * r}u;
    let to = token + ty + ${16 * t}u;
    let at = to * ${width}u + ${first}u + row;
    if (row < ${own}u && to < count) {
      ${value}
    }
  }`
  }
  return repeat(outputs, one)
}

export interface MatmulOperands {
  readonly matrix: StoredMatrix
  readonly x: GPUBuffer
  readonly bias?: GPUBuffer
  readonly out: GPUBuffer
}

export function matmul(
  pass: Recorder,
  shape: Pick<MatmulShape, 'add' | 'gated' | 'gate' | 'bias' | 'head'>,
  { matrix, x, bias, out }: MatmulOperands,
  count: number,
): void {
  const kernel = matmulKernel({ ...shape, ...shapeOf(matrix) })
  const buffers = [pass.meta, x, ...matrixBuffers(matrix), ...(bias ? [bias] : []), out]
  // Tiles of one row of weights beside each other: they share its reads.
  pass.dispatch(kernel, buffers, Math.ceil(matrix.rows / TILE), Math.ceil(count / TILE))
}
