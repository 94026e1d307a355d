/**
 * The product of a matrix with a few rows of activations: what decoding is made of. Lanes of a workgroup split the
 * columns; each invocation holds several rows of the matrix and several rows of activations in registers, so that
 * every weight is read once and unpacked once.
 */
import { isBlockType } from '../../../platform/index.js'
import { blockFunctions, takesOff } from './blocks.js'
import {
  type Binding,
  codes,
  halves,
  isQ4,
  matrixBindings,
  matrixBuffers,
  PLACES,
  type StoredMatrix,
  type StoredShape,
  scaleAt,
  storedShapeOf,
} from './formats.js'
import { gateFunctions } from './gate.js'
import { declare, type GpuTraits, type Kernel, MOST_GROUPS, memo, type Recorder, unrolled } from './kernel.js'
import { type Cut, cut, type MatvecShape } from './matvec-cut.js'
import { finish, roomOf } from './matvec-finish.js'
import { META } from './meta.js'
import { enableSubgroups } from './subgroup.js'

export const matvecKernel = memo(function matvecKernel(shape: MatvecShape, traits: GpuTraits): Kernel {
  const { format, columns, tokens, epsilon } = shape
  const work = cut(shape, traits)
  const { lanes, near, held, threads, unit } = work
  const wide = !inWords(shape, work)
  const list: Binding[] = [['batch', 'u32', 'r'], ['x', 'vec4<f32>', 'r'], ...matrixBindings(format, wide)]
  if (epsilon !== undefined) list.push(['gain', 'vec4<f32>', 'r'])
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  return {
    name: `matvec ${format} ${shape.rows}x${columns} by ${tokens}`,
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${META}
${gateFunctions(shape.gate)}
${isBlockType(format) ? blockFunctions(format, columns) : ''}
${roomOf(shape, work)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
${places(shape, work, columns / 4)}
${accumulators(tokens, held, epsilon !== undefined)}
  ${rounds(columns / unit, lanes)} {
${loads(shape, work)}
${unrolled(unit / 8, (i) => step(shape, work, i))}
${isScaled(format) ? unrolled(tokens, (t) => unrolled(held, (r) => `    a${r}_${t} += ${scaledSum(shape, r, t)};`)) : ''}
  }
${finish(shape, work)}
}`,
  }
})

/** Where an invocation's rows lie, of the matrix and of activations, which are so many vectors each. */
export function places(shape: MatvecShape, { lanes, groups, held }: Cut, vectors: number): string {
  const { tokens } = shape
  return `  let lane = index % ${lanes}u;
  let first = ((group.x + group.y * ${MOST_GROUPS}u) * ${groups}u + index / ${lanes}u) * ${held}u;
  let token = group.z * ${tokens}u;
  let count = ${countOf(shape)};
${unrolled(held, (r) => `  let row${r} = ${rowExpression(shape, held, r)};`)}
${unrolled(tokens, (t) => `  let x${t} = min(token + ${t}u, count - 1u) * ${vectors}u;`)}`
}

/** So many each, where all have as many: a compiler then knows how often. */
function rounds(units: number, lanes: number): string {
  if (units % lanes !== 0) return `for (var u = lane; u < ${units}u; u += ${lanes}u)`
  return `for (var u = lane; u < lane + ${units}u; u += ${lanes}u)`
}

/** An invocation takes one word of codes of a row at a time. */
export const inWords = ({ format }: Pick<MatvecShape, 'format'>, { unit }: Cut) => isQ4(format) && unit === 8

/** One row each: there are as many workgroups as rows, whichever rows these are, and one kernel does for both kinds. */
function countOf({ tokens, head }: MatvecShape): string {
  if (tokens === 1) return 'token + 1u'
  return head ? 'headRows()' : 'rowCount()'
}

/** Rows past the end are computed as the last one and not written. Gated: two gates, then their two values. */
function rowExpression({ rows, gated }: MatvecShape, held: number, r: number): string {
  if (!gated) return `min(first + ${r}u, ${rows - 1}u)`
  const half = rows / 2
  return r < held / 2
    ? `min(first / 2u + ${r}u, ${half - 1}u)`
    : `min(first / 2u + ${r - held / 2}u, ${half - 1}u) + ${half}u`
}

export function accumulators(tokens: number, held: number, normed: boolean): string {
  return unrolled(
    tokens,
    (t) => unrolled(held, (r) => `  var a${r}_${t} = 0.0;`) + (normed ? `\n  var a${held}_${t} = 0.0;` : ''),
  )
}

/** Where a scale multiplies the sum of what shares it, not each value. */
export const isScaled = (format: StoredShape['format']) => isQ4(format) || isBlockType(format)

export function scaledSum({ format }: MatvecShape, r: number, t: number): string {
  if (!isBlockType(format)) return `s${r} * b${r}_${t}`
  return `s${r}.x * b${r}_${t}${takesOff(format) ? ` - s${r}.y * m${t}` : ''}`
}

export function loads(shape: MatvecShape, cut: Cut): string {
  const { format, columns, tokens } = shape
  const { held } = cut
  if (isBlockType(format)) {
    const sums = unrolled(tokens, (t) => unrolled(held, (r) => `    var b${r}_${t} = 0.0;`))
    const sizes = takesOff(format) ? unrolled(tokens, (t) => `    var m${t} = 0.0;`) : ''
    return `${unrolled(held, (r) => `    let s${r} = blockScale(row${r}, u);`)}\n${sums}\n${sizes}`
  }
  if (isQ4(format)) {
    const rows = unrolled(
      held,
      (r) => `    let c${r} = w[row${r} * ${columns / cut.unit}u + u];
    let s${r} = ${scaleAt(format, `row${r} * ${columns / 32}u + ${inWords(shape, cut) ? '(u >> 2u)' : 'u'}`)};`,
    )
    return `${rows}\n${unrolled(tokens, (t) => unrolled(held, (r) => `    var b${r}_${t} = 0.0;`))}`
  }
  if (format === 'f32') return ''
  return unrolled(held, (r) => `    let c${r} = w[row${r} * ${columns / 8}u + u];`)
}

/** Eight columns of all held rows with those of all held activations. */
export function step(shape: MatvecShape, cut: Cut, i: number): string {
  const { format, columns, tokens, epsilon } = shape
  const { held, unit } = cut
  const q4 = isQ4(format)
  const block = isBlockType(format)
  const quad = unit > 8 ? `u * ${unit / 4}u + ${i * 2}u` : 'u * 2u'
  const decoded = (r: number, high: boolean): string => {
    if (isQ4(format)) return codes(inWords(shape, cut) ? `c${r}` : `c${r}[${i}]`, high)
    if (isBlockType(format)) return `e${r}[${high ? 1 : 0}]`
    if (format === 'f32') return `w[row${r} * ${columns / 4}u + u * 2u${high ? ' + 1u' : ''}]`
    return halves(format, `c${r}`, high)
  }
  const normed = epsilon !== undefined
  const places = q4 ? ` * ${PLACES}` : ''
  const sum = q4 || block ? 'b' : 'a'
  const sized = block && takesOff(format)
  return `    {
${normed ? `      let g = gain[${quad}]${places}; let h = gain[${quad} + 1u]${places};` : ''}
${block ? unrolled(held, (r) => `      let e${r} = blockCodes(row${r}, u * ${unit / 8}u + ${i}u);`) : ''}
${unrolled(held, (r) => `      let p${r} = ${decoded(r, false)}; let q${r} = ${decoded(r, true)};`)}
${unrolled(
  tokens,
  (t) => `      {
        let low = x[x${t} + ${quad}]; let high = x[x${t} + ${quad} + 1u];
${normed ? `        a${held}_${t} += dot(low, low) + dot(high, high);` : ''}
        let y = low${normed ? ' * g' : places}; let z = high${normed ? ' * h' : places};
${sized ? `        m${t} += dot(y + z, vec4<f32>(1.0));` : ''}
${unrolled(held, (r) => (inWords(shape, cut) ? `        b${r}_${t} = ${chained(`p${r}`, 'y', chained(`q${r}`, 'z', `b${r}_${t}`))};` : `        ${sum}${r}_${t} += dot(p${r}, y) + dot(q${r}, z);`))}
      }`,
)}
    }`
}

/** A product of vectors on top of a sum: an addition less than with `dot`. */
function chained(a: string, b: string, sum: string): string {
  return ['x', 'y', 'z', 'w'].reduce((inner, lane) => `fma(${a}.${lane}, ${b}.${lane}, ${inner})`, sum)
}

/** Powers of two, so that few kernels are made. A software adapter takes seconds to compile the widest. */
function tokensHeld(count: number, serial: boolean): number {
  if (count <= 2) return count
  return count <= 4 || serial ? 4 : 8
}

export interface MatvecOperands {
  readonly matrix: StoredMatrix
  readonly x: GPUBuffer
  readonly gain?: GPUBuffer
  readonly bias?: GPUBuffer
  readonly out: GPUBuffer
}

/** A product as it is asked for: how many rows an invocation takes is found here. */
export type VectorShape = Omit<MatvecShape, 'tokens' | keyof StoredShape>

export function matvec(pass: Recorder, shape: VectorShape, operands: MatvecOperands, count: number): void {
  const { matrix, x, gain, bias, out } = operands
  const buffers = [pass.meta, x, ...matrixBuffers(matrix), ...(gain ? [gain] : []), ...(bias ? [bias] : []), out]
  dispatchMatvec(pass, matvecKernel, shape, matrix, buffers, count)
}

export function dispatchMatvec(
  pass: Recorder,
  kernel: (shape: MatvecShape, traits: GpuTraits) => Kernel,
  shape: VectorShape,
  matrix: StoredMatrix,
  buffers: readonly GPUBuffer[],
  count: number,
): void {
  const tokens = tokensHeld(count, pass.traits.serial)
  const whole = { ...shape, ...storedShapeOf(matrix), tokens, head: shape.head && tokens > 1 }
  const { groups, held } = cut(whole, pass.traits)
  const workgroups = Math.ceil(matrix.rows / (held * groups))
  pass.dispatch(
    kernel(whole, pass.traits),
    buffers,
    Math.min(workgroups, MOST_GROUPS),
    Math.ceil(workgroups / MOST_GROUPS),
    Math.ceil(count / tokens),
  )
}
