/** A profile for people. */
import { figure } from '../../src/bench/table.js'
import { type Part, type Profile, type Row, sum } from './profile.js'

export function printed({ model, device, deviceName, machine, parts, notes }: Profile): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  return [
    `${model} on ${device} (${deviceName}); ${facts.join(', ')}`,
    ...notes.map((note) => `note: ${note}`),
    ...parts.map((part) => partTable(part, device)),
  ].join('\n')
}

const HEAD = ['operation', 'kernel', 'count', 'ms', 'share', 'must read', 'GB/s', 'GMul/s']

function partTable(part: Part, device: string): string {
  const rows = [...part.rows].sort((a, b) => b.milliseconds - a.milliseconds)
  const total = ['all of it', '', String(Math.round(sum(part.rows.map(({ count }) => count)))), time(part.milliseconds)]
  const cells = [HEAD, ...rows.map(cellsOf), [...total, '100 %', '', '', '']]
  const widths = HEAD.map((_, i) => Math.max(...cells.map((row) => row[i]!.length)))
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

function time(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 3 : 1)
}

function size(bytes: number): string {
  return bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`
}
