/** Root mean square norm of rows, where it does not fit into the product that follows. */
import { declare, float, type GpuTraits, type Kernel, memo, type Recorder } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, sumOfGroup } from '../../gpu/kernels/subgroup.js'

export interface NormShape {
  readonly columns: number
  readonly epsilon: number
}

export const normKernel = memo(function normKernel(
  { columns, epsilon }: NormShape,
  { serial, lanes }: GpuTraits,
): Kernel {
  const { source, bindings } = declare([
    ['x', 'vec4<f32>', 'r'],
    ['weight', 'vec4<f32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
  ])
  const quads = columns / 4
  const threads = serial ? 1 : 64
  const near = Math.min(lanes, threads)
  return {
    name: 'norm',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${serial ? '' : `var<workgroup> parts: array<f32, ${threads / near}>;`}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let base = group.x * ${quads}u;
  var sum = 0.0;
  for (var i = lane; i < ${quads}u; i += ${threads}u) { sum += dot(x[base + i], x[base + i]); }
  ${sumOfGroup(threads, near)}
  let scale = inverseSqrt(sum / ${float(columns)} + ${float(epsilon)});
  for (var i = lane; i < ${quads}u; i += ${threads}u) { out[base + i] = x[base + i] * scale * weight[i]; }
}`,
  }
})

export function norm(
  pass: Recorder,
  shape: NormShape,
  x: GPUBuffer,
  weight: GPUBuffer,
  rows: number,
  out: GPUBuffer,
): void {
  pass.dispatch(normKernel(shape, pass.traits), [x, weight, out], rows)
}
