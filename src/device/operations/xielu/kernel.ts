/** Rows that go through an activation of which each layer has learned its own. */
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'

export const xieluKernel = memo(function xieluKernel(columns: number): Kernel {
  const { source, bindings } = declare([
    ['x', 'vec4<f32>', 'w'],
    ['curve', 'vec4<f32>', 'r'],
  ])
  const quads = columns / 4
  return {
    name: 'xielu',
    bindings,
    source: /* wgsl */ `
${source}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 64u + lane;
  if (at >= ${quads}u) { return; }
  let i = group.y * ${quads}u + at;
  let value = x[i];
  let learned = curve[0];
  // log(1 + e^a), where e^a does not overflow.
  let soft = max(learned.xy, vec2<f32>()) + log(1.0 + exp(-abs(learned.xy)));
  let above = soft.x * value * value;
  let below = (learned.z + soft.y) * (exp(min(value, vec4<f32>(learned.w))) - 1.0 - value);
  x[i] = select(below, above, value > vec4<f32>()) + learned.z * value;
}`,
  }
})
