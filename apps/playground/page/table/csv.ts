/** Comma-separated values, as RFC 4180 has them and as spreadsheets write them: commas, semicolons or tabs. */

export function parseCsv(text: string, separator?: string): string[][] {
  const source = text.replace(/^\uFEFF/, '')
  const mark = separator ?? separatorOf(source)
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let quoted = false
  const endCell = () => {
    row.push(cell)
    cell = ''
  }
  const endRow = () => {
    endCell()
    rows.push(row)
    row = []
  }
  for (let i = 0; i < source.length; i++) {
    const letter = source[i]!
    if (quoted) {
      if (letter !== '"') cell += letter
      else if (source[i + 1] === '"') cell += source[++i]
      else quoted = false
    } else if (letter === '"' && cell === '') quoted = true
    else if (letter === mark) endCell()
    else if (letter === '\n') endRow()
    else if (letter === '\r' && source[i + 1] === '\n') continue
    else cell += letter
  }
  if (cell !== '' || row.length > 0) endRow()
  return rows
}

/** The one that the first line has most of, outside of quotes. */
function separatorOf(text: string): string {
  const [line = ''] = text.replace(/"(?:[^"]|"")*"/g, '').split('\n')
  const count = (mark: string) => line.split(mark).length
  return [',', ';', '\t'].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}

export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(quotedCell).join(',')}\r\n`).join('')
}

const quotedCell = (cell: string): string => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** A spreadsheet would compute what begins so: texts of strangers are no formulas. */
export const harmless = (cell: string): string => (/^[=@]|^[+-](?![\d\s().,/-]*$)/.test(cell) ? `'${cell}` : cell)
