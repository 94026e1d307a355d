/** As much as the editor shows in a line, in a window of 1,280 px. */
const WIDTH = 45

/** JSON as people write it: what fits into a line stays in one. `taken` is what stands before it in its line. */
export function readable(value: unknown, indent = '', taken = 0): string {
  const line = inOneLine(value)
  if (indent.length + taken + line.length <= WIDTH || typeof value !== 'object' || value === null) return line
  const deeper = `${indent}  `
  if (Array.isArray(value)) return `[\n${items(value, deeper).join(',\n')}\n${indent}]`
  const fields = Object.entries(value).map(([name, field]) => {
    const key = `${JSON.stringify(name)}: `
    return deeper + key + readable(field, deeper, key.length)
  })
  return `{\n${fields.join(',\n')}\n${indent}}`
}

/** Each in a line of its own, or as many as fit where none of them is long. */
function items(values: readonly unknown[], indent: string): string[] {
  if (values.some((value) => typeof value === 'object')) return values.map((value) => indent + readable(value, indent))
  const lines: string[] = []
  for (const value of values.map(inOneLine)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + value.length + 2 < WIDTH) lines[lines.length - 1] = `${last}, ${value}`
    else lines.push(indent + value)
  }
  return lines
}

/** All of it, however long that gets. */
export function inOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${inOneLine(item)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}
