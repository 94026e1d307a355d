import type { JsonObject } from '../platform/index.js'

/**
 * What stands in a schema without saying anything about the answer: tools write it for machines. A small model takes
 * every word of its prompt for a hint, and answers a quantity with the largest safe integer where that is its bound.
 */

/** The ends of the number types of machines and databases; whatever is not a safe integer is beyond them all. */
const ENDS = new Set([2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32])
const LONGEST_PATTERN = 80
/** What a column holds: 255 is not how long a name is. */
const COLUMNS = new Set([255, 256, 65_535, 65_536, 2 ** 24 - 1, 2 ** 24])

/** The bounds that say something: `[minimum, maximum, exclusiveMinimum, exclusiveMaximum]`. */
export function boundsOf(schema: JsonObject): [number?, number?, number?, number?] {
  const low = (bound: unknown) => (typeof bound === 'number' && !isEnd(-bound) ? bound : undefined)
  const high = (bound: unknown) => (typeof bound === 'number' && !isEnd(bound) ? bound : undefined)
  return [low(schema.minimum), high(schema.maximum), low(schema.exclusiveMinimum), high(schema.exclusiveMaximum)]
}

/** A greatest length or count, unless it is only that of a type or of a column. */
export function lengthOf(most: unknown): number | undefined {
  return typeof most === 'number' && !isEnd(most) && !COLUMNS.has(most) ? most : undefined
}

function isEnd(bound: number): boolean {
  return bound >= Number.MAX_SAFE_INTEGER || ENDS.has(bound)
}

/** A pattern that a reader would read: not the one that spells out a format, nor a page of it. */
export function patternOf({ pattern, format }: JsonObject): string | undefined {
  return typeof pattern === 'string' && typeof format !== 'string' && pattern.length <= LONGEST_PATTERN
    ? pattern
    : undefined
}

/** The description, or the title of a field that has none; nothing where it says only the field's name again. */
export function noteOf({ description, title }: JsonObject, name?: string): string {
  for (const note of [description, name === undefined ? undefined : title]) {
    const line = typeof note === 'string' ? note.replace(/\s+/g, ' ').trim() : ''
    if (line !== '' && (name === undefined || bare(line) !== bare(name))) return line
  }
  return ''
}

/** `orderNo`, `Order No` and `order_no.` are one. */
function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}
