/**
 * The product of a matrix with a few rows of activations: what decoding is made of. Lanes of a workgroup split the
 * columns; each invocation holds several rows of the matrix and several rows of activations in registers, so that
 * every weight is read once and unpacked once.
 */
import {
  type Binding,
  codes,
  halves,
  isQ4,
  type MatrixShape,
  matrixBindings,
  matrixBuffers,
  PLACES,
  type StoredFormat,
  type StoredMatrix,
  scaleAt,
  shapeOf,
} from './formats.js'
import { declare, float, type GpuTraits, type Kernel, memo, type Recorder, repeat, WIDE } from './kernel.js'
import { META } from './meta.js'
import { enableSubgroups, scatter } from './subgroup.js'

export interface MatvecShape extends MatrixShape {
  /** Rows of activations that one invocation computes: 1, 2, 4 or 8. */
  readonly tokens: number
  /** Fused norm of the activations. */
  readonly epsilon?: number
  readonly bias: boolean
  readonly add: boolean
  readonly gated: boolean
  readonly head: boolean
}

/** Rows of the matrix per invocation: even, so that a gate and its value fall to one. */
const HELD = 4
const THREADS = 64
/** Between values in shared memory: odd, so that neighbours lie in different banks. */
function strideOf(near: number): number {
  return THREADS / near + 1
}

interface Cut {
  /** Invocations that share a row: 1 needs no barrier. */
  readonly lanes: number
  readonly groups: number
  /** Of these, how many add up among themselves before any goes to shared memory. */
  readonly near: number
}

function cut({ columns, format }: Pick<MatvecShape, 'columns' | 'format'>, traits: GpuTraits): Cut {
  if (traits.serial) return { lanes: 1, groups: THREADS, near: 1 }
  const units = columns / unitOf(format)
  const lanes = units > 32 ? 64 : units > 16 ? 32 : 16
  return { lanes, groups: THREADS / lanes, near: Math.min(lanes, traits.lanes) }
}

/** Columns that an invocation takes at a time: a block, or 16 bytes. */
function unitOf(format: StoredFormat): number {
  return isQ4(format) ? 32 : 8
}

export const matvecKernel = memo(function matvecKernel(shape: MatvecShape, traits: GpuTraits): Kernel {
  const { format, columns, tokens, epsilon } = shape
  const list: Binding[] = [['batch', 'u32', 'r'], ['x', 'vec4<f32>', 'r'], ...matrixBindings(format, true)]
  if (epsilon !== undefined) list.push(['gain', 'vec4<f32>', 'r'])
  if (shape.bias) list.push(['bias', 'f32', 'r'])
  const { source, bindings } = declare([...list, ['out', 'f32', 'w']])
  const { lanes, groups, near } = cut(shape, traits)
  const unit = unitOf(format)
  const values = tokens * (HELD + (epsilon === undefined ? 0 : 1))
  return {
    name: `matvec ${format} ${shape.rows}x${columns} by ${tokens}`,
    bindings,
    source: /* wgsl */ `
${enableSubgroups(near)}
${source}
${META}
${lanes > 1 ? `var<workgroup> parts: array<f32, ${values * strideOf(near)}>;\n${totalFunction(lanes, near)}` : ''}
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
  let lane = index % ${lanes}u;
  let first = ((group.x + group.y * ${WIDE}u) * ${groups}u + index / ${lanes}u) * ${HELD}u;
  let token = group.z * ${tokens}u;
  let count = ${countOf(shape)};
${repeat(HELD, (r) => `  let row${r} = ${rowExpression(shape, r)};`)}
${repeat(tokens, (t) => `  let x${t} = min(token + ${t}u, count - 1u) * ${columns / 4}u;`)}
${accumulators(tokens, epsilon !== undefined)}
  for (var u = lane; u < ${columns / unit}u; u += ${lanes}u) {
${loads(shape)}
${repeat(unit / 8, (i) => step(shape, i))}
${isQ4(format) ? repeat(tokens, (t) => repeat(HELD, (r) => `    a${r}_${t} += s${r} * b${r}_${t};`)) : ''}
  }
${lanes > 1 ? reduce(shape, lanes, near) : finishAlone(shape)}
}`,
  }
})

/** One row each: there are as many workgroups as rows, whichever rows these are, and one kernel does for both kinds. */
function countOf({ tokens, head }: MatvecShape): string {
  if (tokens === 1) return 'token + 1u'
  return head ? 'headRows()' : 'rowCount()'
}

/** Rows past the end are computed as the last one and not written. Gated: two gates, then their two values. */
function rowExpression({ rows, gated }: MatvecShape, r: number): string {
  if (!gated) return `min(first + ${r}u, ${rows - 1}u)`
  const half = rows / 2
  return r < HELD / 2
    ? `min(first / 2u + ${r}u, ${half - 1}u)`
    : `min(first / 2u + ${r - HELD / 2}u, ${half - 1}u) + ${half}u`
}

function accumulators(tokens: number, normed: boolean): string {
  return repeat(
    tokens,
    (t) => repeat(HELD, (r) => `  var a${r}_${t} = 0.0;`) + (normed ? `\n  var a${HELD}_${t} = 0.0;` : ''),
  )
}

/** A block's scale multiplies its sum, not each of its values. */
function loads({ format, columns, tokens }: MatvecShape): string {
  if (isQ4(format)) {
    const rows = repeat(
      HELD,
      (r) => `    let c${r} = w[row${r} * ${columns / 32}u + u];
    let s${r} = ${scaleAt(format, `row${r} * ${columns / 32}u + u`)};`,
    )
    return `${rows}\n${repeat(tokens, (t) => repeat(HELD, (r) => `    var b${r}_${t} = 0.0;`))}`
  }
  if (format === 'f32') return ''
  return repeat(HELD, (r) => `    let c${r} = w[row${r} * ${columns / 8}u + u];`)
}

/** Eight columns of all held rows with those of all held activations. */
function step({ format, columns, tokens, epsilon }: MatvecShape, i: number): string {
  const q4 = isQ4(format)
  const quad = q4 ? `u * 8u + ${i * 2}u` : 'u * 2u'
  const decoded = (r: number, high: boolean): string => {
    if (isQ4(format)) return codes(`c${r}[${i}]`, high)
    if (format === 'f32') return `w[row${r} * ${columns / 4}u + u * 2u${high ? ' + 1u' : ''}]`
    return halves(format, `c${r}`, high)
  }
  const normed = epsilon !== undefined
  const places = q4 ? ` * ${PLACES}` : ''
  const sum = q4 ? 'b' : 'a'
  return `    {
${normed ? `      let g = gain[${quad}]${places}; let h = gain[${quad} + 1u]${places};` : ''}
${repeat(HELD, (r) => `      let p${r} = ${decoded(r, false)}; let q${r} = ${decoded(r, true)};`)}
${repeat(
  tokens,
  (t) => `      {
        let low = x[x${t} + ${quad}]; let high = x[x${t} + ${quad} + 1u];
${normed ? `        a${HELD}_${t} += dot(low, low) + dot(high, high);` : ''}
        let y = low${normed ? ' * g' : places}; let z = high${normed ? ' * h' : places};
${repeat(HELD, (r) => `        ${sum}${r}_${t} += dot(p${r}, y) + dot(q${r}, z);`)}
      }`,
)}
    }`
}

/** One value of the answer, from the finished sums; `t` and `r` are numbers in the shader. */
function writeFunction(shape: MatvecShape, sum: (r: string, t: string) => string, r: string, t: string): string {
  const { rows, columns, epsilon, gated, first, of } = shape
  const scale =
    epsilon === undefined ? '' : ` * inverseSqrt(${sum(`${HELD}u`, t)} / ${float(columns)} + ${float(epsilon)})`
  const own = gated ? rows / 2 : rows
  const width = gated ? of / 2 : of
  const at = gated ? `(first / 2u + ${r})` : `(first + ${r})`
  const bias = (row: string) => (shape.bias ? ` + bias[${row}]` : '')
  const value = gated
    ? `let gate = ${sum(r, t)}${scale}${bias(`${at} + ${first}u`)};
    let value = gate / (1.0 + exp(-gate)) * (${sum(`${r} + ${HELD / 2}u`, t)}${scale}${bias(`${at} + ${first + width}u`)});`
    : `let value = ${sum(r, t)}${scale}${bias(`${at} + ${first}u`)};`
  return `if (${at} < ${own}u && token + ${t} < count) {
    ${value}
    out[(token + ${t}) * ${width}u + ${first}u + ${at}] ${shape.add ? '+=' : '='} value;
  }`
}

function finishAlone(shape: MatvecShape): string {
  const sum = (r: string, t: string) => `a${evaluate(r)}_${evaluate(t)}`
  const outputs = shape.gated ? HELD / 2 : HELD
  return repeat(shape.tokens, (t) => repeat(outputs, (r) => `  ${writeFunction(shape, sum, `${r}u`, `${t}u`)}`))
}

/** '1u + 2u' to 3. */
function evaluate(text: string): number {
  return text.split('+').reduce((total, part) => total + Number.parseInt(part, 10), 0)
}

/** What is left of all sums goes to shared memory at once: one barrier, then each invocation adds up one value. */
function reduce(shape: MatvecShape, lanes: number, near: number): string {
  const { tokens, epsilon, gated } = shape
  const held = HELD + (epsilon === undefined ? 0 : 1)
  const outputs = (gated ? HELD / 2 : HELD) * tokens
  const sum = (r: string, t: string) => `total((${r}) * ${tokens}u + ${t}, base)`
  const names = Array.from({ length: held * tokens }, (_, i) => `a${Math.floor(i / tokens)}_${i % tokens}`)
  return `${near > 1 ? storeScattered(names, near) : storeAll(names)}
  workgroupBarrier();
  for (var o = lane; o < ${outputs}u; o += ${lanes}u) {
    let base = (index / ${lanes}u) * ${lanes / near}u;
    let r = o / ${tokens}u;
    let t = o % ${tokens}u;
  ${writeFunction(shape, sum, 'r', 't')}
  }`
}

function storeAll(names: readonly string[]): string {
  return repeat(names.length, (i) => `  parts[${i * strideOf(1)}u + index] = ${names[i]};`)
}

function storeScattered(names: readonly string[], near: number): string {
  const { source, held, stores } = scatter(names, near)
  return `${source}
  if (${stores}) {
${repeat(held.length, (i) => {
  const { name, value } = held[i]!
  return `    if (${value} < ${names.length}u) { parts[(${value}) * ${strideOf(near)}u + index / ${near}u] = ${name}; }`
})}
  }`
}

function totalFunction(lanes: number, near: number): string {
  return `fn total(value: u32, base: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < ${lanes / near}u; i++) { sum += parts[value * ${strideOf(near)}u + base + i]; }
  return sum;
}`
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

export function matvec(
  pass: Recorder,
  shape: Omit<MatvecShape, 'tokens' | keyof MatrixShape>,
  operands: MatvecOperands,
  count: number,
): void {
  const { matrix, x, gain, bias, out } = operands
  const tokens = tokensHeld(count, pass.traits.serial)
  const whole = { ...shape, ...shapeOf(matrix), tokens, head: shape.head && tokens > 1 }
  const { groups } = cut(whole, pass.traits)
  const workgroups = Math.ceil(matrix.rows / (HELD * groups))
  const buffers = [pass.meta, x, ...matrixBuffers(matrix), ...(gain ? [gain] : []), ...(bias ? [bias] : []), out]
  const kernel = matvecKernel(whole, pass.traits)
  pass.dispatch(kernel, buffers, Math.min(workgroups, WIDE), Math.ceil(workgroups / WIDE), Math.ceil(count / tokens))
}
