/** Rows of an embedding table, by the tokens of the batch, the slots that they stand for, or their places. */
import { eightFunction, matrixBindings, type StoredShape } from '../../gpu/kernels/formats.js'
import { declare, type Kernel, memo } from '../../gpu/kernels/kernel.js'
import { META } from '../../gpu/kernels/meta.js'

export type EmbedBy = 'tokens' | 'places'

export const embedKernel = memo(function embedKernel(
  { format, rows, columns, first, of }: StoredShape,
  by: EmbedBy,
): Kernel {
  const { source, bindings } = declare([
    ['batch', 'u32', 'r'],
    ['slots', 'u32', 'r'],
    ...matrixBindings(format, false),
    ['out', 'vec4<f32>', 'w'],
  ])
  const units = columns / 8
  return {
    name: 'embed',
    bindings,
    source: /* wgsl */ `
${source}
${META}
${eightFunction(format, columns)}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x / ${units}u;
  if (row >= rowCount()) { return; }
  let unit = id.x % ${units}u;
  var token = ${by === 'tokens' ? 'tokenOf' : 'placeOf'}(row);
  if (token < 0) { token = i32(slots[u32(-1 - token)]); }
  let own = min(u32(token), ${of - 1}u) - ${first}u;
  // Of another part.
  if (own >= ${rows}u) { return; }
  let values = eight(own, unit);
  out[(row * ${units}u + unit) * 2u] = values[0];
  out[(row * ${units}u + unit) * 2u + 1u] = values[1];
}`,
  }
})
