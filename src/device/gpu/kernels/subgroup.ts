/**
 * Sums over neighbouring lanes by passing values in registers. Values go by exchange with the lane whose number differs
 * in one bit, from the lowest bit on: what is added to what never depends on how wide the hardware's subgroups are, or
 * on how many sums are made side by side.
 */
import { unrolled } from './kernel.js'

/** The first line of a kernel whose lanes pass values. */
export function enableSubgroups(lanes: number): string {
  return lanes > 1 ? 'enable subgroups;' : ''
}

/** `variable` becomes its sum, or what `combine` makes of two, over each run of `lanes` lanes; all of them hold it. */
export function exchange(
  variable: string,
  lanes: number,
  combine = (a: string, b: string) => `${a} + ${b}`,
  indent = '  ',
): string {
  return unrolled(Math.log2(lanes), (bit) => {
    const other = `subgroupShuffleXor(${variable}, ${1 << bit}u)`
    return `${indent}${variable} = ${combine(variable, other)};`
  })
}

/**
 * The same over `lanes` of them that no one subgroup reaches: in registers over `near`, then through `partial` in shared
 * memory, in which the lanes of `m` have a stretch of their own.
 */
export function gather(
  name: string,
  lanes: number,
  near: number,
  combine: (a: string, b: string) => string,
  indent = '  ',
): string {
  const exchanged = exchange(name, near, combine, indent)
  if (near === lanes) return exchanged
  const others = lanes / near
  const through = [
    `if (lane % ${near}u == 0u) { partial[lane / ${near}u] = ${name}; }`,
    'workgroupBarrier();',
    `${name} = partial[m * ${others}u];`,
    `for (var i = 1u; i < ${others}u; i++) { ${name} = ${combine(name, `partial[m * ${others}u + i]`)}; }`,
    'workgroupBarrier();',
  ]
  return [exchanged, ...through.map((line) => indent + line)].join('\n')
}

/** `sum` becomes the sum over all `threads` of a workgroup, through `parts` in shared memory; one thread has it already. */
export function sumOfGroup(threads: number, near: number): string {
  if (threads === 1) return ''
  return `${exchange('sum', near)}
  if (lane % ${near}u == 0u) { parts[lane / ${near}u] = sum; }
  workgroupBarrier();
  sum = 0.0;
  for (var i = 0u; i < ${threads / near}u; i++) { sum += parts[i]; }`
}

export interface Scattered {
  /** Declares what the lanes end up with. */
  readonly source: string
  /** Sums that a lane holds, with the number of the value each is of, an expression. */
  readonly held: readonly { readonly name: string; readonly value: string }[]
  /** A condition: of the lanes that hold the same sums, this is the one to store them. */
  readonly stores: string
}

/**
 * The sums of many values over each run of `lanes` lanes, shared out between these: at each exchange a lane gives away
 * half of its values, as long as it has several. Sums of a second call have names that begin with another letter.
 */
export function scatter(names: readonly string[], lanes: number, letter = 'n'): Scattered {
  const lines: string[] = []
  const places: string[] = []
  let held: readonly string[] = names
  let spare = 0
  let count = 1
  while (count < names.length) count *= 2
  for (let bit = 1; bit < lanes; bit *= 2) {
    const upper = `(lane & ${bit}u) != 0u`
    if (count === 1) {
      lines.push(`  let ${letter}${bit} = ${held[0]} + subgroupShuffleXor(${held[0]}, ${bit}u);`)
      held = [`${letter}${bit}`]
      spare |= bit
      continue
    }
    count /= 2
    places.push(`select(0u, ${count}u, ${upper})`)
    const kept = Array.from({ length: Math.min(count, held.length) }, (_, i) => `${letter}${bit}_${i}`)
    kept.forEach((name, i) => {
      const [low, high] = [held[i]!, held[i + count] ?? '0.0']
      const [keep, give] = [`select(${low}, ${high}, ${upper})`, `select(${high}, ${low}, ${upper})`]
      lines.push(`  let ${name} = ${keep} + subgroupShuffleXor(${give}, ${bit}u);`)
    })
    held = kept
  }
  const place = `${letter}Place`
  return {
    source: `${lines.join('\n')}\n  let ${place} = ${places.join(' + ') || '0u'};`,
    held: held.map((name, i) => ({ name, value: `${place} + ${i}u` })),
    stores: spare === 0 ? 'true' : `(lane & ${spare}u) == 0u`,
  }
}
