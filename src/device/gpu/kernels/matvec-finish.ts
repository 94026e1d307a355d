/** From the sums that lanes hold to the values of the answer. */
import { gatedBy, gateOf } from './gate.js'
import { float, unrolled } from './kernel.js'
import type { Cut, MatvecShape } from './matvec-cut.js'
import { exchange, scatter } from './subgroup.js'

/** Between values in shared memory: odd, so that neighbours lie in different banks. */
function strideOf({ threads, near }: Pick<Cut, 'threads' | 'near'>): number {
  return threads / near + 1
}

/** Names of the finished sums that make a value. */
interface Sums {
  readonly own: string
  /** Of the value behind a gate. */
  readonly behind: string
  /** Of the squares of a row of activations. */
  readonly squares: string
}

/** One value of the answer; `t` and `r` are numbers in the shader. */
function writeValue(shape: MatvecShape, { own, behind, squares }: Sums, r: string, t: string): string {
  const { rows, columns, epsilon, gated, first, of } = shape
  const scale = epsilon === undefined ? '' : ` * inverseSqrt(${squares} / ${float(columns)} + ${float(epsilon)})`
  const most = gated ? rows / 2 : rows
  const width = gated ? of / 2 : of
  const at = gated ? `(first / 2u + ${r})` : `(first + ${r})`
  const bias = (row: string) => (shape.bias ? ` + bias[${shape.biasFrom ? `${shape.biasFrom} + ` : ''}${row}]` : '')
  const value = gated
    ? `let gate = ${own}${scale}${bias(`${at} + ${first}u`)};
    let value = ${gateOf(shape.gate)} * ${gatedBy(shape.gate, `${behind}${scale}${bias(`${at} + ${first + width}u`)}`)};`
    : `let value = ${own}${scale}${bias(`${at} + ${first}u`)};`
  return `if (${at} < ${most}u && token + ${t} < count) {
    ${value}
    out[(token + ${t}) * ${width}u + ${first}u + ${at}] ${shape.add ? '+=' : '='} value;
  }`
}

const outputsOf = ({ gated }: MatvecShape, { held }: Cut) => (gated ? held / 2 : held)

/** Whether no sum goes through shared memory: nobody else has a part of it, or all who have are neighbours. */
function inRegisters({ tokens }: MatvecShape, { lanes, near }: Cut): boolean {
  return lanes === 1 || (lanes === near && tokens === 1)
}

/** The memory that a workgroup shares for `finish`, and what reads it. */
export function roomOf(shape: MatvecShape, cut: Cut): string {
  if (inRegisters(shape, cut)) return ''
  const values = shape.tokens * (cut.held + (shape.epsilon === undefined ? 0 : 1))
  return `var<workgroup> parts: array<f32, ${values * strideOf(cut)}>;
fn total(value: u32, base: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < ${cut.lanes / cut.near}u; i++) { sum += parts[value * ${strideOf(cut)}u + base + i]; }
  return sum;
}`
}

export function finish(shape: MatvecShape, cut: Cut): string {
  if (!inRegisters(shape, cut)) return reduce(shape, cut)
  return cut.lanes === 1 ? finishAlone(shape, cut) : finishNear(shape, cut)
}

function finishAlone(shape: MatvecShape, cut: Cut): string {
  const { held } = cut
  const outputs = outputsOf(shape, cut)
  return unrolled(shape.tokens, (t) =>
    unrolled(outputs, (r) => {
      const sums = { own: `a${r}_${t}`, behind: `a${r + outputs}_${t}`, squares: `a${held}_${t}` }
      return `  ${writeValue(shape, sums, `${r}u`, `${t}u`)}`
    }),
  )
}

/**
 * One row, whose lanes all reach each other: no barrier. What is added to what is as in `reduce`, to the bit. A gate and
 * the value behind it end up with one lane.
 */
function finishNear(shape: MatvecShape, cut: Cut): string {
  const { lanes, held } = cut
  const outputs = outputsOf(shape, cut)
  const names = Array.from({ length: held }, (_, r) => `a${r}_0`)
  const own = scatter(names.slice(0, outputs), lanes)
  const behind = shape.gated ? scatter(names.slice(outputs), lanes, 'v') : own
  return `${shape.epsilon === undefined ? '' : exchange(`a${held}_0`, lanes)}
${own.source}
${shape.gated ? behind.source : ''}
  if (${own.stores}) {
${unrolled(own.held.length, (i) => {
  const { name, value } = own.held[i]!
  return `  ${writeValue(shape, { own: name, behind: behind.held[i]!.name, squares: `a${held}_0` }, `(${value})`, '0u')}`
})}
  }`
}

/** What is left of all sums goes to shared memory at once: one barrier, then each invocation adds up one value. */
function reduce(shape: MatvecShape, cut: Cut): string {
  const { tokens, epsilon } = shape
  const { lanes, near } = cut
  const held = cut.held + (epsilon === undefined ? 0 : 1)
  const outputs = outputsOf(shape, cut)
  const sum = (r: string) => `total((${r}) * ${tokens}u + t, base)`
  const sums = { own: sum('r'), behind: sum(`r + ${outputs}u`), squares: sum(`${cut.held}u`) }
  const names = Array.from({ length: held * tokens }, (_, i) => `a${Math.floor(i / tokens)}_${i % tokens}`)
  return `${near > 1 ? storeScattered(names, cut) : storeAll(names, cut)}
  workgroupBarrier();
  for (var o = lane; o < ${outputs * tokens}u; o += ${lanes}u) {
    let base = (index / ${lanes}u) * ${lanes / near}u;
    let r = o / ${tokens}u;
    let t = o % ${tokens}u;
  ${writeValue(shape, sums, 'r', 't')}
  }`
}

function storeAll(names: readonly string[], cut: Cut): string {
  return unrolled(names.length, (i) => `  parts[${i * strideOf(cut)}u + index] = ${names[i]};`)
}

function storeScattered(names: readonly string[], cut: Cut): string {
  const { near } = cut
  const { source, held, stores } = scatter(names, near)
  return `${source}
  if (${stores}) {
${unrolled(held.length, (i) => {
  const { name, value } = held[i]!
  return `    if (${value} < ${names.length}u) { parts[(${value}) * ${strideOf(cut)}u + index / ${near}u] = ${name}; }`
})}
  }`
}
