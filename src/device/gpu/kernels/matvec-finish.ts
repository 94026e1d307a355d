/** From the sums that lanes hold to the values of the answer. */
import { gatedBy, gateOf } from './gate.js'
import { float, unrolled } from './kernel.js'
import type { Cut, MatvecShape } from './matvec-cut.js'
import { scatter } from './subgroup.js'

/** Between values in shared memory: odd, so that neighbours lie in different banks. */
export function strideOf({ threads, near }: Pick<Cut, 'threads' | 'near'>): number {
  return threads / near + 1
}

/** One value of the answer, from the finished sums; `t` and `r` are numbers in the shader. */
function writeFunction(
  shape: MatvecShape,
  held: number,
  sum: (r: string, t: string) => string,
  r: string,
  t: string,
): string {
  const { rows, columns, epsilon, gated, first, of } = shape
  const scale =
    epsilon === undefined ? '' : ` * inverseSqrt(${sum(`${held}u`, t)} / ${float(columns)} + ${float(epsilon)})`
  const own = gated ? rows / 2 : rows
  const width = gated ? of / 2 : of
  const at = gated ? `(first / 2u + ${r})` : `(first + ${r})`
  const bias = (row: string) => (shape.bias ? ` + bias[${shape.biasFrom ? `${shape.biasFrom} + ` : ''}${row}]` : '')
  const value = gated
    ? `let gate = ${sum(r, t)}${scale}${bias(`${at} + ${first}u`)};
    let value = ${gateOf(shape.gate)} * ${gatedBy(shape.gate, `${sum(`${r} + ${held / 2}u`, t)}${scale}${bias(`${at} + ${first + width}u`)}`)};`
    : `let value = ${sum(r, t)}${scale}${bias(`${at} + ${first}u`)};`
  return `if (${at} < ${own}u && token + ${t} < count) {
    ${value}
    out[(token + ${t}) * ${width}u + ${first}u + ${at}] ${shape.add ? '+=' : '='} value;
  }`
}

export function finishAlone(shape: MatvecShape, { held }: Cut): string {
  const sum = (r: string, t: string) => `a${evaluate(r)}_${evaluate(t)}`
  const outputs = shape.gated ? held / 2 : held
  return unrolled(shape.tokens, (t) =>
    unrolled(outputs, (r) => `  ${writeFunction(shape, held, sum, `${r}u`, `${t}u`)}`),
  )
}

/** '1u + 2u' to 3. */
function evaluate(text: string): number {
  return text.split('+').reduce((total, part) => total + Number.parseInt(part, 10), 0)
}

/** What is left of all sums goes to shared memory at once: one barrier, then each invocation adds up one value. */
export function reduce(shape: MatvecShape, cut: Cut): string {
  const { tokens, epsilon, gated } = shape
  const { lanes, near } = cut
  const held = cut.held + (epsilon === undefined ? 0 : 1)
  const outputs = (gated ? cut.held / 2 : cut.held) * tokens
  const sum = (r: string, t: string) => `total((${r}) * ${tokens}u + ${t}, base)`
  const names = Array.from({ length: held * tokens }, (_, i) => `a${Math.floor(i / tokens)}_${i % tokens}`)
  return `${near > 1 ? storeScattered(names, cut) : storeAll(names, cut)}
  workgroupBarrier();
  for (var o = lane; o < ${outputs}u; o += ${lanes}u) {
    let base = (index / ${lanes}u) * ${lanes / near}u;
    let r = o / ${tokens}u;
    let t = o % ${tokens}u;
  ${writeFunction(shape, cut.held, sum, 'r', 't')}
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

export function totalFunction(cut: Cut): string {
  return `fn total(value: u32, base: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < ${cut.lanes / cut.near}u; i++) { sum += parts[value * ${strideOf(cut)}u + base + i]; }
  return sum;
}`
}
