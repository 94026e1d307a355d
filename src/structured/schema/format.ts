/** How the generated text is laid out. Nothing here is optional for the model: one value, one text. */
export interface Layout {
  /** Between a key and its value. */
  readonly colon: ':' | ': '
  /** Between members, when they stand on one line. */
  readonly comma: ',' | ', '
}

export const COMPACT: Layout = { colon: ':', comma: ',' }
export const SPACED: Layout = { colon: ': ', comma: ', ' }

/** A value as this layout writes it. */
export function write(value: unknown, layout: Layout): string {
  if (Array.isArray(value)) return `[${value.map((item) => write(item, layout)).join(layout.comma)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, item]) => JSON.stringify(key) + layout.colon + write(item, layout))
  return `{${members.join(layout.comma)}}`
}

const encoder = new TextEncoder()

/** The UTF-8 bytes as a string of one character per byte: cheap to slice, compare and use as a key. */
export function toBytes(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text
  let bytes = ''
  for (const byte of encoder.encode(text)) bytes += String.fromCharCode(byte)
  return bytes
}
