import { LOW, PART, type TiledShape } from './attend-tiled.js'
import { declare, type Kernel, memo } from './kernel.js'
import { META } from './meta.js'
import { sight } from './sight.js'

/** Puts the parts of split contexts together. */
export const mergeKernel = memo(function mergeKernel(shape: TiledShape): Kernel {
  const { queries, headSize } = shape
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['parts', 'f32', 'r'],
    ['out', 'f32', 'w'],
  ])
  return {
    name: 'attend merge',
    bindings,
    source: /* wgsl */ `
${source}
${META}
${sight(shape)}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let unit = id.x / ${headSize}u;
  if (unit >= rowCount() * ${queries}u) { return; }
  let splits = batch[3];
  let base = unit * splits * ${headSize + 2}u;
  // Parts beyond what a row sees are empty: its answer must not depend on the longest row of the batch.
  let own = min(splits, lastOf(unit / ${queries}u) / ${PART}u + 1u);
  var most = ${LOW};
  for (var i = 0u; i < own; i++) { most = max(most, parts[base + i * ${headSize + 2}u + ${headSize}u]); }
  var sum = 0.0;
  var total = 0.0;
  for (var i = 0u; i < own; i++) {
    let at = base + i * ${headSize + 2}u;
    let fade = exp(parts[at + ${headSize}u] - most);
    sum += fade * parts[at + id.x % ${headSize}u];
    total += fade * parts[at + ${headSize + 1}u];
  }
  out[id.x] = sum / total;
}`,
  }
})
