/** Rows one further: an invocation takes a column through the rows of a span. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export interface TokenShiftShape {
  readonly columns: number
  /** Columns of a row of out. */
  readonly stride: number
  /** Values of a state. */
  readonly size: number
  readonly keeps: boolean
}

export const tokenShiftKernel = memo(function tokenShiftKernel({
  columns,
  stride,
  size,
  keeps,
}: TokenShiftShape): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'f32', 'r'],
    ['state', 'f32', 'w'],
    ['out', 'f32', 'w'],
  ])
  return {
    name: 'tokenShift',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let column = id.x;
  if (column >= ${columns}u) { return; }
  let span = spanOf(id.y);
  let first = span & 0xffffu;
  let end = first + (span >> 16u);
  let slot = slotsOf(first) & 0xffffu;
  var before = 0.0;
  if (slot != 0u) { before = state[(slot - 1u) * ${size}u + column]; }
  for (var row = first; row < end; row++) {
    out[row * ${stride}u + column] = before;
    before = x[row * ${columns}u + column];
${keeps ? `    if (leavesState(row, end)) { state[(slotsOf(row) >> 16u) * ${size}u + column] = before; }` : ''}
  }
}`,
  }
})
