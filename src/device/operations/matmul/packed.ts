/**
 * The product with few rows of activations in 8 bits, four to a word: a GPU multiplies and adds four of them at once
 * (WGSL's `packed_4x8_integer_dot_product`), of words that `to-packed.ts` makes.
 */
import { type BlockType, isBlockType } from '../../../platform/index.js'
import { blockByteFunctions, groupOf, takesOff, zeroByte } from '../../gpu/kernels/blocks.js'
import { cutsOf } from '../../gpu/kernels/cuts.js'
import {
  type Binding,
  isQ4,
  matrixBindings,
  matrixBuffers,
  type StoredFormat,
  scaleAt,
} from '../../gpu/kernels/formats.js'
import { gateFunctions } from '../../gpu/kernels/gate.js'
import { declare, type GpuTraits, type Kernel, memo, type Recorder, unrolled } from '../../gpu/kernels/kernel.js'
import {
  accumulators,
  dispatchMatvec,
  type MatvecOperands,
  places,
  type VectorShape,
} from '../../gpu/kernels/matvec.js'
import { cut, type MatvecShape } from '../../gpu/kernels/matvec-cut.js'
import { finish, roomOf } from '../../gpu/kernels/matvec-finish.js'
import { META } from '../../gpu/kernels/meta.js'
import { enableSubgroups } from '../../gpu/kernels/subgroup.js'
import { PACKED_BLOCK, type PackedOrder, type PackedRows, REQUIRES_PACKED } from './to-packed.js'

/** Whether some matrices are multiplied so. */
export function multipliesBytes(traits: GpuTraits): boolean {
  return !traits.serial && traits.packed === true && cutsOf(traits).vectors.packed === true
}

/** How activations lie in words for such a matrix; undefined: it is not multiplied so. */
export function packedOrder(format: StoredFormat, traits: GpuTraits): PackedOrder | undefined {
  if (!multipliesBytes(traits)) return undefined
  if (isQ4(format)) return cutsOf(traits).vectors.words ? 'nibbles' : undefined
  return isBlockType(format) ? 'bytes' : undefined
}

const matvecPackedKernel = memo(function matvecPackedKernel(shape: MatvecShape, traits: GpuTraits): Kernel {
  const { format, columns, tokens } = shape
  const work = cut(shape, traits)
  const { lanes, near, held, threads, unit } = work
  const list: Binding[] = [
    ['batch', 'u32', 'r'],
    ['x', 'vec2<u32>', 'r'],
    ['steps', 'f32', 'r'],
    ...matrixBindings(format, false),
  ]
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  return {
    name: `matvecPacked ${format} ${shape.rows}x${columns} by ${tokens}`,
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${REQUIRES_PACKED}
${source}
${META}
${gateFunctions(shape.gate)}
${isBlockType(format) ? blockByteFunctions(format, columns) : ''}
${roomOf(shape, work)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
${places(shape, work, columns / 8)}
${accumulators(tokens, held, false)}
  for (var u = lane; u < ${columns / unit}u; u += ${lanes}u) {
${isBlockType(format) ? groupOfBytes(format, shape, held) : wordOfNibbles(shape, held)}
  }
${finish(shape, work)}
}`,
  }
})

/** Eight columns: codes less 7, which is taken off the sum once for all rows of the matrix. */
function wordOfNibbles({ format, columns, tokens }: MatvecShape, held: number): string {
  return `${unrolled(
    held,
    (r) => `    let c${r} = w[row${r} * ${columns / 8}u + u];
    let low${r} = c${r} & 0x0f0f0f0fu; let high${r} = (c${r} >> 4u) & 0x0f0f0f0fu;
    let s${r} = ${scaleAt(format, `row${r} * ${columns / PACKED_BLOCK}u + (u >> 2u)`)};`,
  )}
${unrolled(
  tokens,
  (t) => `    {
      let y = x[x${t} + u];
      let step = steps[x${t} / 4u + (u >> 2u)];
      let less = 7 * (dot4I8Packed(y.x, 0x01010101u) + dot4I8Packed(y.y, 0x01010101u));
${unrolled(held, (r) => `      a${r}_${t} += s${r} * step * f32(dot4I8Packed(low${r}, y.x) + dot4I8Packed(high${r}, y.y) - less);`)}
    }`,
)}`
}

/**
 * Columns of GGUF's blocks that share a scale. What is taken off for the code of zero, and for values that begin at
 * another, is the sum of the activations each time: once for all rows of the matrix.
 */
function groupOfBytes(type: BlockType, { tokens }: MatvecShape, held: number): string {
  const [eights, zero, sized] = [groupOf(type) / 8, zeroByte(type), takesOff(type)]
  const summed = sized || zero > 0
  const codes = (r: number, t: number) => `f32(b${r}_${t}${zero > 0 ? ` - ${zero} * m${t}` : ''})`
  const value = (r: number, t: number) =>
    sized ? `(s${r}.x * ${codes(r, t)} - l${t} * s${r}.y)` : `s${r}.x * ${codes(r, t)}`
  return `${unrolled(held, (r) => `    let s${r} = blockScale(row${r}, u);`)}
${unrolled(tokens, (t) => unrolled(held, (r) => `    var b${r}_${t} = 0;`) + (summed ? ` var m${t} = 0;` : ''))}
    for (var i = u * ${eights}u; i < u * ${eights}u + ${eights}u; i++) {
${unrolled(held, (r) => `      let p${r} = blockBytes(row${r}, i);`)}
${unrolled(
  tokens,
  (t) => `      let y${t} = x[x${t} + i];
${summed ? `      m${t} += dot4I8Packed(y${t}.x, 0x01010101u) + dot4I8Packed(y${t}.y, 0x01010101u);` : ''}
${unrolled(held, (r) => `      b${r}_${t} += dot4I8Packed(p${r}.x, y${t}.x) + dot4I8Packed(p${r}.y, y${t}.y);`)}`,
)}
    }
${unrolled(
  tokens,
  (t) => `    let step${t} = steps[x${t} / 4u + u * ${eights}u / 4u];${sized ? ` let l${t} = f32(m${t});` : ''}
${unrolled(held, (r) => `    a${r}_${t} += step${t} * ${value(r, t)};`)}`,
)}`
}

export function matvecPacked(
  pass: Recorder,
  shape: VectorShape,
  { matrix, bias, out }: Omit<MatvecOperands, 'x' | 'gain'>,
  { words, steps }: PackedRows,
  count: number,
): void {
  const buffers = [pass.meta, words, steps, ...matrixBuffers(matrix), ...(bias ? [bias] : []), out]
  dispatchMatvec(pass, matvecPackedKernel, shape, matrix, buffers, count)
}
