/** How the formats of matrices are read: declarations, and eight values at a time. */
import { type BlockType, isBlockType } from '../../../platform/index.js'
import type { PlainFormat } from '../../contract/tensors.js'
import { blockFunctions, groupOf, takesOff } from './blocks.js'

export type StoredFormat = 'q4f16' | 'q4f32' | PlainFormat | BlockType

/** The part of a matrix that a kernel sees: all of it, unless that is too large for one buffer. */
export interface StoredMatrix {
  readonly format: StoredFormat
  /** Rows of this part. Gated: so many gates, then as many values. */
  readonly rows: number
  readonly columns: number
  /** Which of the whole's rows comes first; of its gates, where it is gated. */
  readonly first: number
  /** Rows of the whole. */
  readonly of: number
  /** Codes or values. */
  readonly values: GPUBuffer
  readonly scales?: GPUBuffer
}

/** A part as the shape of a kernel. */
export type StoredShape = Pick<StoredMatrix, 'format' | 'rows' | 'columns' | 'first' | 'of'>

export function storedShapeOf({ format, rows, columns, first, of }: StoredMatrix): StoredShape {
  return { format, rows, columns, first, of }
}

/** Two f16 values of a word, in order. */
const PAIR = {
  f16: (word: string) => `unpack2x16float(${word})`,
  bf16: (word: string) => `bitcast<vec2<f32>>(vec2<u32>(${word} << 16u, ${word} & 0xffff0000u))`,
}

export function isQ4(format: StoredFormat): format is 'q4f16' | 'q4f32' {
  return format === 'q4f16' || format === 'q4f32'
}

export type Binding = readonly [name: string, type: string, access: 'r' | 'w']

/** Bindings `w` and, of 4-bit matrices, `scales`. `wide`: codes four words at a time. */
export function matrixBindings(format: StoredFormat, wide: boolean): Binding[] {
  if (isBlockType(format)) return [['w', 'u32', 'r']]
  if (!isQ4(format)) return [['w', format === 'f32' ? 'vec4<f32>' : 'vec4<u32>', 'r']]
  return [
    ['w', wide ? 'vec4<u32>' : 'u32', 'r'],
    ['scales', format === 'q4f32' ? 'f32' : 'u32', 'r'],
  ]
}

/** The buffers for those bindings. */
export function matrixBuffers(matrix: StoredMatrix): GPUBuffer[] {
  return matrix.scales ? [matrix.values, matrix.scales] : [matrix.values]
}

/** Scale number `index`, an expression. f16 scales lie two in a word. */
export function scaleAt(format: StoredFormat, index: string): string {
  if (format === 'q4f32') return `scales[${index}]`
  return `unpack2x16float(scales[(${index}) >> 1u])[(${index}) & 1u]`
}

/**
 * Four codes of a word, the low or the high ones, as numbers less 7, times 1, 16, 256 and 4096. A code is masked where it
 * lies, and becomes the end of the mantissa of 2^23: no shift for each, and no conversion, which GPUs are slow at.
 */
export function codes(word: string, high: boolean): string {
  const masked = `vec4<u32>(${high ? `${word} >> 16u` : word}) & vec4<u32>(0xfu, 0xf0u, 0xf00u, 0xf000u)`
  const less = [1, 16, 256, 4096].map((place) => `${8388608 + 7 * place}.0`).join(', ')
  return `(bitcast<vec4<f32>>((${masked}) | vec4<u32>(0x4b000000u)) - vec4<f32>(${less}))`
}

/** What undoes the places of `codes`. All are powers of two: nothing is rounded. */
export const PLACES = 'vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625)'

/** Eight values from a vec4<u32> of f16 or bf16: the low four, or the high four. */
export function halves(format: 'f16' | 'bf16', word4: string, high: boolean): string {
  const [a, b] = high ? ['z', 'w'] : ['x', 'y']
  return `vec4<f32>(${PAIR[format](`${word4}.${a}`)}, ${PAIR[format](`${word4}.${b}`)})`
}

/**
 * `fn eight(row: u32, k8: u32) -> array<vec4<f32>, 2>`: values 8 k8 to 8 k8 + 7 of a row. Needs the narrow bindings.
 */
export function eightFunction(format: StoredFormat, columns: number): string {
  if (isBlockType(format)) {
    const off = takesOff(format) ? ' - vec4<f32>(scale.y)' : ''
    return `${blockFunctions(format, columns)}
fn eight(row: u32, k8: u32) -> array<vec4<f32>, 2> {
  let scale = blockScale(row, k8 / ${groupOf(format) / 8}u);
  let codes = blockCodes(row, k8);
  return array<vec4<f32>, 2>(codes[0] * scale.x${off}, codes[1] * scale.x${off});
}`
  }
  const row = `row * ${columns / 8}u + k8`
  const body = isQ4(format)
    ? `let word = w[${row}];
  let scale = ${scaleAt(format, `row * ${columns / 32}u + (k8 >> 2u)`)} * ${PLACES};
  return array<vec4<f32>, 2>(${codes('word', false)} * scale, ${codes('word', true)} * scale);`
    : format === 'f32'
      ? `return array<vec4<f32>, 2>(w[(${row}) * 2u], w[(${row}) * 2u + 1u]);`
      : `let word = w[${row}];
  return array<vec4<f32>, 2>(${halves(format, 'word', false)}, ${halves(format, 'word', true)});`
  return `fn eight(row: u32, k8: u32) -> array<vec4<f32>, 2> {
  ${body}
}`
}
