/** The report as one table for people, at most 100 columns wide. */
import { type BenchReport, METRICS, type Series } from './report.js'

const LABEL = 36
const UNIT = 7
const COLUMN = 19
const RATIO = '1st/2nd'
/** Of a line of words. */
const WIDTH = 100
/** Subjects side by side; more come in a second block. */
const MOST_COLUMNS = 3

export function tableOf(report: BenchReport): string {
  const blocks: string[] = []
  for (let at = 0; at < report.subjects.length; at += MOST_COLUMNS) {
    blocks.push(block(report, report.subjects.slice(at, at + MOST_COLUMNS)))
  }
  return [...heading(report), ...blocks, ...report.notes.flatMap((note) => wrap(`note: ${note}`)), ''].join('\n')
}

function heading({ version, date, machine, settings, subjects }: BenchReport): string[] {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  const lines = [...wrap(`local-v1 ${version}, ${date}: ${facts.join(', ')}`)]
  for (const { name, engine, model, device, deviceName, fingerprint, notes } of subjects) {
    const which = [`${name}: ${model}, engine ${engine} on ${device} (${deviceName})`, fingerprint, ...notes]
    lines.push(...wrap(which.filter(Boolean).join(', ')))
  }
  const { rounds, tokens, clock } = settings
  const time = clock === 'processor' ? ' Seconds of the processor, not of the wall.' : ''
  lines.push(`Medians of ${rounds} rounds in turn, ± the median deviation; answers of ${tokens} tokens.${time}`, '')
  return lines
}

function block({ series }: BenchReport, subjects: BenchReport['subjects']): string {
  const names = subjects.map(({ name }) => name)
  const compare = names.length === 2
  const head = ['', '', ...names, ...(compare ? [RATIO] : [])]
  const widths = head.map((name, i) => (i === 0 ? LABEL : i === 1 ? UNIT : name === RATIO ? RATIO.length + 1 : COLUMN))
  const row = (cells: readonly string[]) => rowOf(cells, widths)
  const lines = [...headRows(head).map(row), row(widths.map((width) => '-'.repeat(width - 1)))]
  const seen = new Set<string>()
  for (const one of series) {
    if (!names.includes(one.subject) || seen.has(keyOf(one))) continue
    seen.add(keyOf(one))
    const cells = names.map((name) => series.find((other) => other.subject === name && keyOf(other) === keyOf(one)))
    const [first, second] = cells
    // None of either is in no ratio to the other.
    const isTold = compare && first && second && (first.median !== 0 || second.median !== 0)
    const ratio = isTold ? [`x${(first.median / second.median).toFixed(2)}`] : []
    lines.push(row([labelOf(one), one.unit, ...cells.map((cell) => (cell ? spread(cell) : '-')), ...ratio]))
  }
  return `${lines.join('\n')}\n`
}

/** Names that are longer than a column go on below. */
function headRows(head: readonly string[]): string[][] {
  const pieces = head.map((name) => name.match(new RegExp(`.{1,${COLUMN - 1}}`, 'g')) ?? [''])
  const height = Math.max(...pieces.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) => pieces.map((piece) => piece[line] ?? ''))
}

/** `decode, prompt of 128, x4` */
export function labelOf({ metric, promptTokens, batch }: Omit<Series, 'values' | 'subject'>): string {
  const { label } = METRICS[metric]
  const after = promptTokens === undefined ? '' : label.startsWith('  ') ? '' : ` ${promptTokens}`
  return `${label}${after}${batch === undefined ? '' : `, x${batch}`}`
}

const keyOf = ({ metric, promptTokens, batch }: Series) => `${metric} ${promptTokens} ${batch}`

function spread({ median, deviation, values }: Series): string {
  return values.length === 1 ? figure(median) : `${figure(median)} ± ${figure(deviation)}`
}

/** Three digits that count. */
export function figure(value: number): string {
  const size = Math.abs(value)
  if (!Number.isFinite(value)) return '-'
  if (size >= 100) return value.toFixed(0)
  if (size >= 10) return value.toFixed(1)
  return value.toFixed(size >= 0.1 || size === 0 ? 2 : 3)
}

function rowOf(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => (i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
    .join('')
    .trimEnd()
}

function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + word.length + 1 > WIDTH) lines.push(`  ${word}`)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}
