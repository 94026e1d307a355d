import { getOrMake } from './maps.js'

/** An object as `JSON.parse` makes it: every field may be anything. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object that a text spells; one that was cut off, or is none, is empty: half a document says something else. */
export const objectOf = (text: string): JsonObject => objectIn(text) ?? {}

/** Nothing, where it is none. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * JSON that stands in the JSON around it as it was written: read and spelled again, a number of more digits than a double
 * has would be another. Only `textOfJson` and `spelled` spell it so.
 */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** As `objectOf`, but as the text has it: blanks between its values may be line breaks, which would end a line of lines of JSON. */
export const rawObjectOf = (text: string): object => (objectIn(text) ? new RawJson(text.replace(/[\n\r]/g, ' ')) : {})

/** Numbers by where they stand in what was parsed, as they were written. */
const written = new WeakMap<object, Map<string, string>>()

/** For `exactJson`: this number stands so in a parsed list or object, and has more digits than a double holds. */
export function noteNumber(holder: object, name: string, text: string): void {
  getOrMake(written, holder, () => new Map()).set(name, text)
}

/** JSON of what was parsed, with its noted numbers as they were written. */
export const exactJson = (value: unknown): string => textOfJson(exact(value))

function exact(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const numbers = written.get(value)
  const each = ([name, field]: [string, unknown]): [string, unknown] => {
    const text = numbers?.get(name)
    // Of two fields of one name the second stands.
    return [name, text !== undefined && Number(text) === field ? new RawJson(text) : exact(field)]
  }
  const fields = Object.entries(value).map(each)
  return Array.isArray(value) ? fields.map(([, item]) => item) : Object.fromEntries(fields)
}

/** As Python's library writes it, with a blank behind every colon and comma: what models have read most of. */
export function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`)
  return `{${fields.join(', ')}}`
}

/** Equal as JSON values; the order of keys does not count. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (!isRecord(a) || !isRecord(b)) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  )
}

/** A text that two values share exactly if JSON Schema calls them equal: keys in any order, 1 and 1.0 alike. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value === 0 ? 0 : value)
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

/** About as many characters as are spelled without a pause: a millisecond or so. */
export const AT_ONCE = 2 ** 16

/** What a value that is no text takes: a number takes most, to spell and to send. */
const SHORT = 16

/** Whether a value is spelled within so many characters, about; looks at no more of it than these. */
export const isSmall = (value: unknown, most = AT_ONCE): boolean => weighed(value, most) <= most

/**
 * The pieces of what `JSON.stringify` makes of a value, each made when it is asked for: twenty megabytes at once would
 * keep everybody else waiting. What a `toJSON` makes is made when its place has come.
 */
export function* spelled(value: unknown): Generator<string, void, void> {
  let held = ''
  for (const piece of piecesOf(value)) {
    held += piece
    if (held.length < AT_ONCE) continue
    yield held
    held = ''
  }
  if (held !== '') yield held
}

/** A list in pieces: so many of it together as are small. Parts of one buffer stay together: each would be sent with all of it. */
export function* smallParts<T>(list: readonly T[]): Generator<readonly T[], void, void> {
  for (let from = 0; from < list.length; ) {
    const to = ArrayBuffer.isView(list[0]) ? list.length : Math.max(from + 1, from + fitting(list, from))
    yield list.slice(from, to)
    from = to
  }
}

/** What `spelled` makes, at once. */
export const textOfJson = (value: unknown): string => [...piecesOf(value)].join('')

function* piecesOf(given: unknown): Generator<string, void, void> {
  if (given instanceof RawJson) {
    yield given.text
    return
  }
  const value = plain(given)
  if (weighed(value, AT_ONCE, false) <= AT_ONCE) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* piecesOfText(value)
  else if (Array.isArray(value)) yield* piecesOfList(value)
  else yield* piecesOfObject(value as object)
}

function* piecesOfList(values: readonly unknown[]): Generator<string, void, void> {
  let before = '['
  for (const part of smallParts(values)) {
    yield before
    if (part.length === 1) yield* piecesOf(part[0])
    else yield JSON.stringify(part).slice(1, -1)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** How many from there on are small together. */
function fitting(values: readonly unknown[], from: number): number {
  let room = AT_ONCE
  let to = from
  for (; to < values.length; to++) {
    room -= weighed(values[to], room, false)
    if (room < 0) break
  }
  return to - from
}

function* piecesOfObject(value: object): Generator<string, void, void> {
  let before = '{'
  for (const [name, field] of Object.entries(value)) {
    if (isLeftOut(field)) continue
    yield `${before}${JSON.stringify(name)}:`
    yield* piecesOf(field)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol'

function* piecesOfText(value: string): Generator<string, void, void> {
  yield '"'
  for (let from = 0; from < value.length; ) {
    let to = Math.min(from + AT_ONCE, value.length)
    // Half a pair would be spelled as an escape.
    if (to < value.length && isFirstOfPair(value.charCodeAt(to - 1))) to--
    yield JSON.stringify(value.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}

const isFirstOfPair = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

function plain(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? (toJSON.call(value) as unknown) : value
}

/** About how many characters it takes; of more than `most`, no more than that it is more, as where `JSON.stringify` must not spell it. */
function weighed(value: unknown, most: number, hasRaw = true): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return SHORT
  if (hasRaw && value instanceof RawJson) return value.text.length
  // What it makes is not known yet.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return most + 1
  let sum = SHORT
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && sum <= most; i++) sum += weighed(value[i], most - sum, hasRaw)
    return sum
  }
  for (const name in value) {
    sum += name.length + 3 + weighed((value as Record<string, unknown>)[name], most - sum, hasRaw)
    if (sum > most) break
  }
  return sum
}
