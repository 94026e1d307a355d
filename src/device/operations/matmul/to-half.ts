/**
 * Rows of activations as f16 for `tiled-half.ts`, normed first where asked. Each row is multiplied with the power of two
 * that brings its greatest value to between 64 and 128, so that no sum of a block overflows; `steps` holds what undoes
 * it. Of eight columns, 0 4 1 5 2 6 3 7 is the order: that in which codes come out of a word in pairs.
 */
import type { Binding } from '../../gpu/kernels/formats.js'
import { declare, float, type GpuTraits, type Kernel, memo, type Recorder } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'

export interface ToHalfShape {
  readonly columns: number
  /** Of the norm; absent: none. */
  readonly epsilon?: number
}

const THREADS = 64

export const toHalfKernel = memo(function toHalfKernel(shape: ToHalfShape, { lanes }: GpuTraits): Kernel {
  const { columns, epsilon } = shape
  const normed = epsilon !== undefined
  const list: Binding[] = [['x', 'vec4<f32>', 'r']]
  if (normed) list.push(['gain', 'vec4<f32>', 'r'])
  const { source, bindings } = declare([...list, ['halves', 'vec4<f16>', 'w'], ['steps', 'f32', 'w']])
  const near = Math.min(lanes, THREADS)
  const quads = columns / 4
  const quad = (i: string) => `x[base + ${i}]${normed ? ` * gain[${i}]` : ''}`
  return {
    name: 'toHalf',
    bindings,
    source: /* wgsl */ `
enable f16;
${enableSubgroups(near)}
${source}
var<workgroup> parts: array<vec2<f32>, ${THREADS / near}>;
fn both(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.x + b.x, max(a.y, b.y)); }
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x;
  let base = row * ${quads}u;
  // The sum of squares, and the greatest.
  var all = vec2<f32>();
  for (var i = lane; i < ${quads}u; i += ${THREADS}u) {
    let far = abs(${quad('i')});
    all = both(all, vec2<f32>(dot(x[base + i], x[base + i]), max(max(far.x, far.y), max(far.z, far.w))));
  }
${exchange('all', near, (a, b) => `both(${a}, ${b})`)}
  if (lane % ${near}u == 0u) { parts[lane / ${near}u] = all; }
  workgroupBarrier();
  all = parts[0];
  for (var i = 1u; i < ${THREADS / near}u; i++) { all = both(all, parts[i]); }
  let scale = ${normed ? `inverseSqrt(all.x / ${float(columns)} + ${float(epsilon)})` : '1.0'};
  let exponent = clamp((bitcast<u32>(all.y * scale) >> 23u) & 255u, 40u, 220u);
  if (lane == 0u) { steps[row] = bitcast<f32>((exponent - 6u) << 23u); }
  let factor = scale * bitcast<f32>((260u - exponent) << 23u);
  for (var i = 2u * lane; i < ${quads}u; i += ${2 * THREADS}u) {
    let a = vec4<f16>(${quad('i')} * factor);
    let b = vec4<f16>(${quad('(i + 1u)')} * factor);
    halves[base + i] = vec4<f16>(a.x, b.x, a.y, b.y);
    halves[base + i + 1u] = vec4<f16>(a.z, b.z, a.w, b.w);
  }
}`,
  }
})

export interface HalfRows {
  readonly halves: GPUBuffer
  readonly steps: GPUBuffer
}

export function toHalf(
  pass: Recorder,
  shape: ToHalfShape,
  x: GPUBuffer,
  gain: GPUBuffer | undefined,
  rows: number,
  { halves, steps }: HalfRows,
): void {
  const buffers = [x, ...(gain ? [gain] : []), halves, steps]
  pass.dispatch(toHalfKernel(shape, pass.traits), buffers, rows)
}
