/** The mean over the rows of each span. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export const poolKernel = memo(function poolKernel(columns: number): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'vec4<f32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
  ])
  const quads = columns / 4
  return {
    name: 'pool',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let span = id.x / ${quads}u;
  if (span >= headRows()) { return; }
  let first = gatheredRow(span);
  // Where the next span begins, or the rows end.
  let last = select(rowCount(), gatheredRow(min(span + 1u, headRows() - 1u)), span + 1u < headRows());
  var sum = vec4<f32>();
  for (var row = first; row < last; row++) { sum += x[row * ${quads}u + id.x % ${quads}u]; }
  out[id.x] = sum / f32(last - first);
}`,
  }
})
