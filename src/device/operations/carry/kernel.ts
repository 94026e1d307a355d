/** Rows one further: an invocation takes a column through the rows of a span. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export interface CarryShape {
  readonly columns: number
  /** Columns of a row of out. */
  readonly stride: number
  /** Values of a state. */
  readonly size: number
  readonly keeps: boolean
}

export const carryKernel = memo(function carryKernel({ columns, stride, size, keeps }: CarryShape): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'f32', 'r'],
    ['state', 'f32', 'w'],
    ['out', 'f32', 'w'],
  ])
  return {
    name: 'carry',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let column = id.x;
  if (column >= ${columns}u) { return; }
  let span = spanOf(id.y);
  let slots = slotsOf(id.y);
  var before = 0.0;
  if ((slots & 0xffffu) != 0u) { before = state[((slots & 0xffffu) - 1u) * ${size}u + column]; }
  let first = span & 0xffffu;
  for (var row = first; row < first + (span >> 16u); row++) {
    out[row * ${stride}u + column] = before;
    before = x[row * ${columns}u + column];
  }
${keeps ? `  state[(slots >> 16u) * ${size}u + column] = before;` : ''}
}`,
  }
})
