/**
 * Rows of activations in 8 bits, four to a word, for `packed.ts`, normed first where asked. Each block of 32 has a step of
 * its own, as in llama.cpp.
 */
import type { Binding } from '../../gpu/kernels/formats.js'
import { declare, float, type GpuTraits, type Kernel, memo, type Recorder } from '../../gpu/kernels/kernel.js'
import { enableSubgroups, exchange } from '../../gpu/kernels/subgroup.js'

export const REQUIRES_PACKED = 'requires packed_4x8_integer_dot_product;'
export const PACKED_BLOCK = 32
const THREADS = 64

/** In which order eight columns lie in two words: as nibbles come out of a word (0 2 4 6, 1 3 5 7), or as they are. */
export const ORDERS = ['nibbles', 'bytes'] as const
export type PackedOrder = (typeof ORDERS)[number]

export interface PackedRows {
  readonly words: GPUBuffer
  readonly steps: GPUBuffer
}

export interface ToPackedShape {
  readonly columns: number
  /** Of the norm; absent: none. */
  readonly epsilon?: number
  readonly order: PackedOrder
}

export const toPackedKernel = memo(function toPackedKernel(shape: ToPackedShape, { lanes }: GpuTraits): Kernel {
  const { columns, epsilon, order } = shape
  const normed = epsilon !== undefined
  const list: Binding[] = [['x', 'vec4<f32>', 'r']]
  if (normed) list.push(['gain', 'vec4<f32>', 'r'])
  const { source, bindings } = declare([...list, ['words', 'vec2<u32>', 'w'], ['steps', 'f32', 'w']])
  const near = Math.min(lanes, THREADS)
  const quads = columns / 4
  const quad = (i: string) => `x[base + ${i}]${normed ? ` * gain[${i}]` : ''}`
  const pairs = order === 'bytes' ? ['a', 'b'] : ['vec4<i32>(a.x, a.z, b.x, b.z)', 'vec4<i32>(a.y, a.w, b.y, b.w)']
  return {
    name: 'toPacked',
    bindings,
    source: /* wgsl */ `
${normed ? enableSubgroups(near) : ''}
${REQUIRES_PACKED}
${source}
${normed ? `var<workgroup> parts: array<f32, ${THREADS / near}>;` : ''}
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let base = group.x * ${quads}u;
${
  normed
    ? `  var sum = 0.0;
  for (var i = lane; i < ${quads}u; i += ${THREADS}u) { sum += dot(x[base + i], x[base + i]); }
${exchange('sum', near)}
  if (lane % ${near}u == 0u) { parts[lane / ${near}u] = sum; }
  workgroupBarrier();
  sum = 0.0;
  for (var i = 0u; i < ${THREADS / near}u; i++) { sum += parts[i]; }
  let scale = inverseSqrt(sum / ${float(columns)} + ${float(epsilon)});`
    : ''
}
  for (var block = lane; block < ${columns / PACKED_BLOCK}u; block += ${THREADS}u) {
    var most = 0.0;
    for (var i = block * 8u; i < block * 8u + 8u; i++) {
      let far = abs(${quad('i')});
      most = max(most, max(max(far.x, far.y), max(far.z, far.w)));
    }
    steps[group.x * ${columns / PACKED_BLOCK}u + block] = most${normed ? ' * scale' : ''} / 127.0;
    // Of a block of zeros, or of next to nothing, all codes are zero.
    let inverse = select(0.0, 127.0 / most, most > 1e-30);
    for (var i = block * 8u; i < block * 8u + 8u; i += 2u) {
      let a = vec4<i32>(round(${quad('i')} * inverse));
      let b = vec4<i32>(round(${quad('(i + 1u)')} * inverse));
      words[(base + i) / 2u] = vec2<u32>(${pairs.map((four) => `pack4xI8(${four})`).join(', ')});
    }
  }
}`,
  }
})

export function toPacked(
  pass: Recorder,
  shape: ToPackedShape,
  x: GPUBuffer,
  gain: GPUBuffer | undefined,
  rows: number,
  { words, steps }: PackedRows,
): void {
  pass.dispatch(toPackedKernel(shape, pass.traits), [x, ...(gain ? [gain] : []), words, steps], rows)
}
