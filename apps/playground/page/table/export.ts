/** The table as files for others. */
import type { FormField } from '../schema-fields.js'
import { csvOf, harmless } from './csv.js'
import { leastSure, type Row, textOf, valueIn } from './rows.js'

/** One row for each that is filled; the last column says how sure the least sure cell is. */
export function tableAsCsv(rows: readonly Row[], fields: readonly FormField[]): string {
  const hasFiles = rows.some(({ from }) => from !== undefined)
  const head = [...fields.map(({ name }) => name), 'text', ...(hasFiles ? ['file'] : []), 'least_sure']
  const lines = rows.map((row) => {
    const values = fields.map(({ name }) => {
      const value = valueIn(row, name)
      return typeof value === 'number' ? String(value) : harmless(textOf(value))
    })
    const file = hasFiles ? [harmless(row.from ?? '')] : []
    return [...values, harmless(row.text), ...file, leastSure(row, fields)?.toFixed(3) ?? '']
  })
  return csvOf([head, ...lines])
}

/** A line each: the document as a program has it, its text, and how sure each value is. */
export function tableAsJsonLines(rows: readonly Row[], fields: readonly FormField[]): string {
  const lines = rows.map((row) => {
    const document = Object.fromEntries(fields.map(({ name }) => [name, valueIn(row, name) ?? null]))
    const { text, from, evidence = {}, edited = {} } = row
    const confidence = Object.fromEntries(Object.entries(evidence).map(([at, each]) => [at, each.confidence]))
    return { document, text, ...(from !== undefined && { from }), confidence, by_hand: Object.keys(edited) }
  })
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}
