/** Copies the rows that are gathered. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export const gatherRowsKernel = memo(function gatherRowsKernel(columns: number): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'vec4<f32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
  ])
  const quads = columns / 4
  return {
    name: 'gatherRows',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x / ${quads}u;
  if (row >= headRows()) { return; }
  out[id.x] = x[gatheredRow(row) * ${quads}u + id.x % ${quads}u];
}`,
  }
})
