import { cutsOf } from '../../gpu/kernels/cuts.js'
import { declare, type GpuTraits, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'
import { firstPiece, LOW, type PiecesShape } from './pieces.js'
import { maskFunctions, sinkBinding, sunk } from './shape.js'

const LANES = 128

/** Puts the pieces of a context together: a workgroup for each query, its invocations share out columns and pieces. */
export const mergeKernel = memo(function mergeKernel(shape: PiecesShape, traits: GpuTraits): Kernel {
  const { queries, headSize } = shape
  const { positions } = cutsOf(traits).pieces
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['parts', 'vec4<f32>', 'r'],
    ['out', 'vec4<f32>', 'w'],
    ...sinkBinding(shape),
  ])
  const quads = headSize / 4
  const shares = Math.floor(LANES / quads)
  const near = Math.min(LANES, traits.lanes)
  return {
    name: 'attend merge',
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${META}
${maskFunctions(shape)}
var<workgroup> peaks: array<f32, ${LANES / near}>;
var<workgroup> sums: array<vec4<f32>, ${shares * quads}>;
var<workgroup> totals: array<f32, ${shares}>;
@compute @workgroup_size(${LANES})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let unit = id.x;
  let splits = batch[3];
  // Parts beyond what a row sees are none: its answer must not depend on the longest row of the batch.
  let row = unit / ${queries}u;
  let own = min(splits, lastOf(row) / ${positions}u + 1u - ${firstPiece('row', positions)});
  let statistics = rowCount() * ${queries}u * splits * ${headSize}u + 2u * unit * splits;
  var most = ${LOW};
  for (var i = lane; i < own; i += ${LANES}u) { most = max(most, parts[(statistics + 2u * i) / 4u][(statistics + 2u * i) % 4u]); }
${exchange('most', near, (a, b) => `max(${a}, ${b})`)}
  if (lane % ${near}u == 0u) { peaks[lane / ${near}u] = most; }
  workgroupBarrier();
  most = peaks[0];
  for (var i = 1u; i < ${LANES / near}u; i++) { most = max(most, peaks[i]); }
  let share = lane / ${quads}u;
  let column = lane % ${quads}u;
  if (share < ${shares}u) {
    var sum = vec4<f32>();
    var total = 0.0;
    for (var i = share; i < own; i += ${shares}u) {
      let at = statistics + 2u * i;
      let fade = exp(parts[at / 4u][at % 4u] - most);
      sum += fade * parts[(unit * splits + i) * ${quads}u + column];
      total += fade * parts[at / 4u][at % 4u + 1u];
    }
    sums[lane] = sum;
    if (column == 0u) { totals[share] = total; }
  }
  workgroupBarrier();
  if (lane < ${quads}u) {
    var sum = sums[lane];
    var total = totals[0];
    for (var i = 1u; i < ${shares}u; i++) {
      sum += sums[i * ${quads}u + lane];
      total += totals[i];
    }
    out[unit * ${quads}u + lane] = sum / (total${sunk(shape, `unit % ${queries}u`, 'most')});
  }
}`,
  }
})
