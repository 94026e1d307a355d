/** A profile for people. */
import { figure } from '../../src/bench/table.js'
import { type Part, type Profile, type Row, sum } from './profile.js'

/** What the machine does at most, in 1e9 a second. */
export interface MachineBound {
  /** Bytes read and bytes written. */
  readonly copyGBps: number
  /** Multiplications, each with an addition, in f32. */
  readonly fmaGMulps: number
  /** In f16, where it has them. */
  readonly halfGMulps?: number
}

/** Milliseconds that such work takes at least: its bytes have to come, its products to be made, both at once. */
export function boundMs(
  rows: readonly Pick<Row, 'bytes' | 'multiplications'>[],
  { copyGBps, fmaGMulps, halfGMulps = 0 }: MachineBound,
): number {
  const products = Math.max(fmaGMulps, halfGMulps)
  return sum(rows.map(({ bytes, multiplications }) => Math.max(bytes / copyGBps, multiplications / products) / 1e6))
}

/** `bound`: what shares are of. */
export function printed({ model, device, deviceName, machine, parts, notes }: Profile, bound?: MachineBound): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  return [
    `${model} on ${device} (${deviceName}); ${facts.join(', ')}`,
    ...notes.map((note) => `note: ${note}`),
    ...parts.map((part) => partTable(part, device, bound)),
  ].join('\n')
}

const HEAD = ['operation', 'kernel', 'count', 'ms', 'share', 'must read', 'GB/s', 'GMul/s']
const OF_BOUND = 'of bound'

function partTable(part: Part, device: string, bound: MachineBound | undefined): string {
  const rows = [...part.rows].sort((a, b) => b.milliseconds - a.milliseconds)
  const total = ['all of it', '', String(Math.round(sum(part.rows.map(({ count }) => count)))), time(part.milliseconds)]
  const head = bound ? [...HEAD, OF_BOUND] : HEAD
  const cells = [
    head,
    ...rows.map((row) => [...cellsOf(row), ...(bound ? [shareOf([row], row.milliseconds, bound)] : [])]),
    [...total, '100 %', '', '', '', ...(bound ? [shareOf(part.rows, part.milliseconds, bound)] : [])],
  ]
  const widths = head.map((_, i) => Math.max(...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')
  const apart = device === 'cpu' ? 'operation by operation' : 'with a compute pass and timestamps for each dispatch'
  return [
    '',
    `## ${part.title}`,
    '',
    line(cells[0]!).trimEnd(),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...cells.slice(1).map((row) => line(row).trimEnd()),
    '',
    `unprofiled: ${time(part.unprofiled)} ms; ${apart}: ${time(part.profiled)} ms. Of the unprofiled:`,
    ...part.outside.map(({ what, milliseconds }) => `  ${time(milliseconds).padStart(9)} ms  ${what}`),
    '',
  ].join('\n')
}

function cellsOf({ operation, kernel, count, milliseconds, share, bytes, multiplications }: Row): string[] {
  const perSecond = (amount: number) => (amount > 0 && milliseconds > 0 ? figure(amount / milliseconds / 1e6) : '')
  return [
    operation,
    kernel,
    String(Math.round(count)),
    time(milliseconds),
    `${(share * 100).toFixed(1)} %`,
    bytes > 0 ? size(bytes) : '',
    perSecond(bytes),
    perSecond(multiplications),
  ]
}

function shareOf(rows: readonly Row[], milliseconds: number, bound: MachineBound): string {
  const least = boundMs(rows, bound)
  return least > 0 && milliseconds > 0 ? `${((least / milliseconds) * 100).toFixed(1)} %` : ''
}

function time(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 3 : 1)
}

function size(bytes: number): string {
  return bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`
}
