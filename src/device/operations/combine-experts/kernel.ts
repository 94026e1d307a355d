/** What each row's experts gave, times their weights, added up. */
import type { RoutingShape } from '../../contract/tensors.js'
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { routingLists } from '../../gpu/kernels/routing.js'

interface CombineExpertsShape extends RoutingShape {
  readonly strides: { readonly x: number; readonly out: number }
  /** Columns of a row of what all rows share; absent: nothing. */
  readonly shared?: number
}

export const combineExpertsKernel = memo(function combineExpertsKernel({
  rows,
  chosen,
  strides,
  shared,
}: CombineExpertsShape): Kernel {
  const { source, bindings } = declare([
    ['routing', 'u32', 'r'],
    ['x', 'vec4<f32>', 'r'],
    ...(shared ? [['all', 'vec4<f32>', 'r'] as const] : []),
    ['out', 'vec4<f32>', 'w'],
  ])
  const { placeOf, weights } = routingLists({ rows, chosen })
  return {
    name: 'combineExperts',
    bindings,
    source: /* wgsl */ `
${source}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 64u + lane;
  if (at >= ${strides.x / 4}u) { return; }
  var sum = vec4<f32>();
  for (var i = 0u; i < ${chosen}u; i++) {
    let weight = bitcast<f32>(routing[${weights}u + group.y * ${chosen + 1}u + i]);
    sum += weight * x[routing[${placeOf}u + group.y * ${chosen}u + i] * ${strides.x / 4}u + at];
  }
  ${shared ? `sum += bitcast<f32>(routing[${weights}u + group.y * ${chosen + 1}u + ${chosen}u]) * all[group.y * ${shared / 4}u + at];` : ''}
  out[group.y * ${strides.out / 4}u + at] = sum;
}`,
  }
})
