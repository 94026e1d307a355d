import type { Slices } from '../../platform/index.js'

/** Characters of items that are parsed together. A text is one piece, however long: it is copied, and no more. */
const PIECE = 2 ** 15

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** A list or an object that is not at its end. */
interface Open {
  readonly isList: boolean
  /** The place of its bracket, and of the last comma between its items. */
  readonly start: number
  comma: number
}

/** One that has too many items to be parsed at once. */
interface Growing extends Open {
  readonly value: unknown[] | Record<string, unknown>
  /** Up to here it is made. */
  made: number
  /** Whether its last item grew itself: what comes next is a comma, or the end. */
  full: boolean
}

/**
 * `JSON.parse` in pieces, of the same value, or a SyntaxError where that throws one. It is looked through for where lists,
 * objects and their items begin and end; what lies between is left to `JSON.parse`, a few kilobytes at a time.
 */
export function* parsedInSlices(text: string, piece = PIECE): Slices<unknown> {
  /** From the outermost; those that grow come first. */
  const open: Open[] = []
  const growing: Growing[] = []
  let whole: Growing | undefined
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      open.push({ isList: code === OPEN_BRACKET, start: i, comma: -1 })
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      if (open.at(-1)?.isList !== (code === CLOSE_BRACKET)) throw unexpected(text, i)
      if (open.length === growing.length) {
        const ended = growing.pop()!
        growTo(ended, text, i)
        const parent = growing.at(-1)
        if (parent) [parent.made, parent.full] = [i + 1, true]
        else if (isBlank(text.slice(i + 1))) whole = ended
        else throw unexpected(text, i + 1)
      }
      open.pop()
    } else if (code === COMMA && open.length > 0) {
      const inner = open.at(-1)!
      inner.comma = i
      for (;;) {
        const last = growing.at(-1)
        const isLast = open.length === growing.length
        if (!(isLast && last!.full) && i - (last?.made ?? 0) <= piece) break
        if (isLast) {
          growTo(last!, text, i)
          last!.made = i + 1
          yield
          break
        }
        growing.push(grown(open[growing.length]!, last, text))
        open[growing.length - 1] = growing.at(-1)!
      }
    }
  }
  if (whole) return whole.value
  if (growing.length > 0) throw new SyntaxError('Unexpected end of JSON input')
  return JSON.parse(text)
}

/** Begins to make one that lies in another, or in none. */
function grown(open: Open, parent: Growing | undefined, text: string): Growing {
  const value: Growing['value'] = open.isList ? [] : {}
  const before = parent?.made ?? 0
  if (parent?.full) throw unexpected(text, before)
  if (parent && parent.comma >= before) {
    growTo(parent, text, parent.comma)
    parent.made = parent.comma + 1
  }
  const name = text.slice(parent?.made ?? 0, open.start)
  if (!parent || parent.isList) {
    if (!isBlank(name)) throw unexpected(text, parent?.made ?? 0)
    if (parent) (parent.value as unknown[]).push(value)
  } else {
    if (!/:[ \t\n\r]*$/.test(name)) throw unexpected(text, open.start)
    const [key] = Object.keys(parsed(`{${name}0}`, parent.made) as object)
    set(parent.value as Record<string, unknown>, key!, value)
  }
  return { ...open, value, made: open.start + 1, full: false }
}

/** Adds its items up to there, where a comma or its end is. */
function growTo(growing: Growing, text: string, end: number): void {
  const { isList, value, made, full } = growing
  const items = text.slice(made, end)
  if (isBlank(items) !== full) throw unexpected(text, end)
  growing.full = false
  if (full) return
  const more = parsed(isList ? `[${items}]` : `{${items}}`, made)
  if (isList) for (const item of more as unknown[]) (value as unknown[]).push(item)
  else for (const [key, item] of Object.entries(more as object)) set(value as Record<string, unknown>, key, item)
}

/** A field of its own, whatever it is called. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
}

/** What an error names is a place of the whole text; a bracket has been put before the piece. */
function parsed(piece: string, from: number): unknown {
  try {
    return JSON.parse(piece)
  } catch (error) {
    const message = (error as SyntaxError).message.replace(
      / at position (\d+)( \(.*\))?/,
      (_, place) => ` at position ${from + Number(place) - 1}`,
    )
    throw new SyntaxError(message)
  }
}

/** As JSON has it: other white space is none. */
const isBlank = (text: string): boolean => /^[ \t\n\r]*$/.test(text)

const unexpected = (text: string, place: number): SyntaxError =>
  new SyntaxError(
    place < text.length
      ? `Unexpected token ${JSON.stringify(text[place])} in JSON at position ${place}`
      : 'Unexpected end of JSON input',
  )

/** The place of the quote that ends it: the first that an even number of backslashes stands before. */
export function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote
    while (text.charCodeAt(before - 1) === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote
  }
  return text.length
}
