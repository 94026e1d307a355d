/** Spaces, tabs and line breaks: all that JSON knows. */
const BLANKS = ' \t\n\r'

/**
 * How the generated text is laid out: one value, one text, but for the white space that `blanks` leaves to the model.
 *
 * With an indent the length of a text depends on how deep it stands. The compiler therefore counts in weights, which do
 * not: the lines that a text adds, times `LINE`, plus its bytes were it to stand outermost. So of two texts the one with
 * fewer lines counts as the shorter, at every depth alike. Without an indent a weight is the number of bytes.
 */
export class Layout {
  /** Between a key and its value. */
  readonly colon: ':' | ': '
  /** Between members that stand on one line, and before a line break. */
  readonly comma: ',' | ', '
  /** One level of indentation; empty: all on one line. */
  readonly indent: string
  /** What stands before the first member of an object or array, between two, and behind the last one with its bracket. */
  readonly weights: { readonly open: number; readonly comma: number; readonly close: number }

  /** How many bytes of white space may come between two words of the text, beside what stands there. */
  readonly blanks: number
  /** Their bytes. */
  readonly kinds: readonly number[]

  constructor(colon: ':' | ': ', comma: ',' | ', ', indent = '', blanks = 0, kinds = BLANKS) {
    this.colon = colon
    this.comma = comma
    this.indent = indent
    this.blanks = blanks
    this.kinds = Array.from(kinds, (letter) => letter.charCodeAt(0))
    this.weights = {
      open: this.weigh(this.open(0)),
      comma: this.weigh(this.between(0)),
      close: this.weigh(this.close(0)) + 1,
    }
  }

  /** Before the first member of what stands so deep. */
  open(depth: number): string {
    return this.indent === '' ? '' : `\n${this.indent.repeat(depth + 1)}`
  }

  between(depth: number): string {
    return this.comma + this.open(depth)
  }

  /** Behind the last one. */
  close(depth: number): string {
    return this.indent === '' ? '' : `\n${this.indent.repeat(depth)}`
  }

  /** The weight of bytes that were written so deep. */
  weigh(bytes: string, depth = 0): number {
    if (this.indent === '') return bytes.length
    let lines = 0
    for (let at = bytes.indexOf('\n'); at >= 0; at = bytes.indexOf('\n', at + 1)) lines++
    return this.bounded(bytes.length - lines * this.indent.length * depth + lines * LINE)
  }

  /** The weight of a member, seen from what it stands in. */
  inside(weight: number): number {
    return this.indent === '' ? weight : weight + this.indent.length * Math.floor(weight / LINE)
  }

  /** The bytes of a text of this weight that stands so deep. */
  length(weight: number, depth: number): number {
    if (this.indent === '' || weight === Infinity) return weight
    const lines = Math.floor(weight / LINE)
    return weight - lines * LINE + lines * this.indent.length * depth
  }

  times(count: number, weight: number): number {
    if (count === 0) return 0
    if (this.indent === '' || weight === Infinity) return count * weight
    const lines = Math.floor(weight / LINE)
    return count * lines * LINE + Math.min(MOST, count * (weight - lines * LINE))
  }

  /** Wherever they stand, none of these is longer than a text of this weight; those that are `Infinity` do not count. */
  most(weights: Iterable<number>): number {
    let [lines, bytes] = [0, 0]
    for (const weight of weights) {
      if (weight === Infinity) continue
      const own = this.indent === '' ? 0 : Math.floor(weight / LINE)
      lines = Math.max(lines, own)
      bytes = Math.max(bytes, weight - own * LINE)
    }
    return lines * LINE + bytes
  }

  /** Keeps lengths that no document has from being taken for lines. */
  bounded(weight: number): number {
    if (this.indent === '' || weight === Infinity) return weight
    const lines = Math.floor(weight / LINE)
    return lines * LINE + Math.min(MOST, weight - lines * LINE)
  }
}

const LINE = 2 ** 32
/** More bytes than any document has that is compiled. */
const MOST = 2 ** 20

export const COMPACT = new Layout(':', ',')
export const SPACED_LAYOUT = new Layout(': ', ', ')

/** As `JSON.stringify(value, null, indent)` writes it. */
export function indented(indent: string): Layout {
  return new Layout(': ', ',', indent)
}

export type LayoutOption =
  | 'compact'
  | 'spaced'
  | { readonly indent: number | '\t' }
  | { readonly whitespace: number; readonly of?: string }

/** More at one place only keeps a model busy. */
const MOST_BLANKS = 100

export function layoutOf(option: LayoutOption): Layout {
  if (option === 'compact') return COMPACT
  if (option === 'spaced') return SPACED_LAYOUT
  const { indent, whitespace, of = BLANKS } = { ...(option as Readonly<Record<string, unknown>>) }
  if (whitespace === undefined) {
    if (indent === '\t') return indented(indent)
    if (isWithin(indent, 10)) return indented(' '.repeat(indent))
  } else if (indent === undefined && isWithin(whitespace, MOST_BLANKS) && isBlank(of)) {
    return new Layout(':', ',', '', whitespace, of)
  }
  throw new TypeError(
    "layout must be 'compact', 'spaced', an indent: 1 to 10 spaces or '\\t', or whitespace: at most 1 to 100 bytes in a row, of those in `of`.",
  )
}

const isBlank = (letters: unknown): letters is string => typeof letters === 'string' && /^[ \t\n\r]+$/.test(letters)

function isWithin(count: unknown, most: number): count is number {
  return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= most
}

/** A value as this layout writes it so deep. */
export function write(value: unknown, layout: Layout, depth = 0): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Array.isArray(value)
    ? value.map((item) => write(item, layout, depth + 1))
    : Object.entries(value).map(([key, item]) => JSON.stringify(key) + layout.colon + write(item, layout, depth + 1))
  const [left, right] = Array.isArray(value) ? '[]' : '{}'
  if (members.length === 0) return `${left}${right}`
  return left! + layout.open(depth) + members.join(layout.between(depth)) + layout.close(depth) + right!
}

const encoder = new TextEncoder()

/** The UTF-8 bytes as a string of one character per byte: cheap to slice, compare and use as a key. */
export function toBytes(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text
  let bytes = ''
  for (const byte of encoder.encode(text)) bytes += String.fromCharCode(byte)
  return bytes
}
