/** The texts that a table is filled from, a row each. */
import { parseCsv } from './csv.js'

export interface SourceText {
  readonly text: string
  /** The file that it is from. */
  readonly from?: string
}

/** A page keeps this many rows at most. */
export const MOST_ROWS = 20_000

/** A line each; where most of what stands between blank lines has several, a paragraph each. */
export function textsIn(pasted: string): SourceText[] {
  const blocks = pasted.split(/\r?\n[ \t]*(?:\r?\n[ \t]*)+/).filter((block) => block.trim() !== '')
  const several = blocks.filter((block) => /\S\r?\n[ \t]*\S/.test(block.trim()))
  const paragraphs = blocks.length > 1 && several.length > blocks.length / 2
  const parts = paragraphs ? blocks : pasted.split(/\r?\n/)
  return parts.flatMap((part) => (part.trim() === '' ? [] : [{ text: part.trim() }]))
}

/** A row of a table of several columns is read as `name: value` lines; of one column, as its text. */
export function textsInCsv(csv: string, from: string): SourceText[] {
  const rows = parseCsv(csv).filter((row) => row.some((cell) => cell.trim() !== ''))
  const [head = [], ...rest] = rows
  const isHead =
    rest.length > 0 && head.every((cell) => cell.trim() !== '' && cell.length < 60 && !/\d{3}|[.!?]$/.test(cell))
  const texts = (isHead ? rest : rows).map((row) => {
    const told = row.flatMap((cell, i) =>
      cell.trim() === '' ? [] : [{ name: head[i]?.trim() ?? '', cell: cell.trim() }],
    )
    if (!isHead || head.length === 1) return told.map(({ cell }) => cell).join(', ')
    return told.map(({ name, cell }) => `${name}: ${cell}`).join('\n')
  })
  return texts.map((text) => ({ text, from }))
}

const isCsv = ({ name, type }: File): boolean => /\.(csv|tsv)$/i.test(name) || /csv|tab-separated/.test(type)

export const isTextFile = (file: File): boolean =>
  isCsv(file) || /^text\//.test(file.type) || /\.(txt|md|text|log|eml|jsonl?)$/i.test(file.name)

/** Each file a row; a CSV file has many. */
export async function textsInFiles(files: readonly File[]): Promise<SourceText[]> {
  const found: SourceText[] = []
  for (const file of files) {
    const text = await file.text()
    if (isCsv(file)) found.push(...textsInCsv(text, file.name))
    else if (text.trim() !== '') found.push({ text: text.trim(), from: file.name })
    if (found.length >= MOST_ROWS) break
  }
  return found.slice(0, MOST_ROWS)
}
