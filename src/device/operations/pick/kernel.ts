/** Copies the rows that were picked. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export const pickKernel = memo(function pickKernel(columns: number): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['x', 'vec4<f32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
  ])
  const quads = columns / 4
  return {
    name: 'pick',
    bindings,
    source: /* wgsl */ `
${source}
${META}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x / ${quads}u;
  if (row >= headRows()) { return; }
  out[id.x] = x[pickOf(row) * ${quads}u + id.x % ${quads}u];
}`,
  }
})
