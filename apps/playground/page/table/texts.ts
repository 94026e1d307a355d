/** The texts that a table is filled from, a row each. */
import { parseCsv } from './csv.js'

export interface SourceText {
  readonly text: string
  /** The file that it is from. */
  readonly from?: string
}

/** A page keeps this many rows at most. */
export const MOST_ROWS = 20_000

/** A line each; where most of what stands between blank lines has several, a paragraph each; a row of a spreadsheet. */
export function textsIn(pasted: string): SourceText[] {
  const cells = pasted.includes('\t') ? parseCsv(pasted, '\t').filter(isFilled) : []
  // As a spreadsheet gives it away: as many cells in each row.
  if (cells.length > 1 && cells.every((row) => row.length === cells[0]!.length)) return textsInRows(cells)
  const blocks = pasted.split(/\r?\n[ \t]*(?:\r?\n[ \t]*)+/).filter((block) => block.trim() !== '')
  const several = blocks.filter((block) => /\S\r?\n[ \t]*\S/.test(block.trim()))
  const paragraphs = blocks.length > 1 && several.length > blocks.length / 2
  const parts = paragraphs ? blocks : linesOf(pasted)
  return parts.flatMap((part) => (part.trim() === '' ? [] : [{ text: part.trim() }]))
}

const linesOf = (text: string): string[] => text.split(/\r?\n/).filter((line) => line.trim() !== '')

const isFilled = (row: readonly string[]): boolean => row.some((cell) => cell.trim() !== '')

export const textsInCsv = (csv: string, from: string): SourceText[] =>
  textsInRows(parseCsv(csv).filter(isFilled)).map((text) => ({ ...text, from }))

/** A row of a table of several columns is read as `name: value` lines; of one column, as its text. */
function textsInRows(rows: readonly (readonly string[])[]): SourceText[] {
  const [head = [], ...rest] = rows
  const isHead =
    rest.length > 0 && head.every((cell) => cell.trim() !== '' && cell.length < 60 && !/\d{3}|[.!?]$/.test(cell))
  return (isHead ? rest : rows).map((row) => {
    const filled = row.flatMap((cell, i) =>
      cell.trim() === '' ? [] : [{ name: head[i]?.trim() ?? '', cell: cell.trim() }],
    )
    const isText = !isHead || head.length === 1
    const parts = filled.map(({ name, cell }) => (isText ? cell : `${name}: ${cell}`))
    return { text: parts.join(isText ? ', ' : '\n') }
  })
}

const isCsv = ({ name, type }: File): boolean => /\.(csv|tsv)$/i.test(name) || /csv|tab-separated/.test(type)
/** A text each. */
const hasLines = ({ name }: File): boolean => /\.(log|jsonl|ndjson)$/i.test(name)

export const isTextFile = (file: File): boolean =>
  isCsv(file) || hasLines(file) || /^text\//.test(file.type) || /\.(txt|md|text|eml|json)$/i.test(file.name)

/** Each file a row; a CSV file, and one of lines, has many. `without`: the names of those that hold no text. */
export async function textsInFiles(files: readonly File[]): Promise<{ texts: SourceText[]; without: string[] }> {
  const found: SourceText[] = []
  const without: string[] = []
  for (const file of files) {
    const { name } = file
    // What cannot be read holds no text for us.
    const bytes = isTextFile(file) ? await file.arrayBuffer().catch(() => new ArrayBuffer(0)) : new ArrayBuffer(0)
    const text = decoded(new Uint8Array(bytes))
    // Whatever its name: no text has such a character.
    if (text.trim() === '' || text.includes('\0')) without.push(name)
    else if (isCsv(file)) found.push(...textsInCsv(text, name))
    else if (hasLines(file)) found.push(...linesOf(text).map((line) => ({ text: line.trim(), from: name })))
    else found.push({ text: text.trim(), from: name })
    if (found.length > MOST_ROWS) break
  }
  return { texts: found, without }
}

/** What is no UTF-8 is what spreadsheets and mail programs write: Windows-1252, or UTF-16 with its mark. */
function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
