/** About as many characters as are spelled without a pause: a millisecond or so. */
export const AT_ONCE = 2 ** 16

/** What a value that is no text takes: a number takes most, to spell and to send. */
const PLAIN = 16

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

function* piecesOf(given: unknown): Generator<string, void, void> {
  const value = plain(given)
  if (isSmall(value)) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* text(value)
  else if (Array.isArray(value)) yield* list(value)
  else yield* fields(value as object)
}

function* list(values: readonly unknown[]): Generator<string, void, void> {
  let before = '['
  for (let from = 0; from < values.length; ) {
    const to = from + fitting(values, from)
    yield before
    if (to === from) yield* piecesOf(values[from++])
    else {
      yield JSON.stringify(values.slice(from, to)).slice(1, -1)
      from = to
    }
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** How many from there on are small together. */
function fitting(values: readonly unknown[], from: number): number {
  let room = AT_ONCE
  let to = from
  for (; to < values.length; to++) {
    room -= weighed(values[to], room)
    if (room < 0) break
  }
  return to - from
}

function* fields(value: object): Generator<string, void, void> {
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

function* text(value: string): Generator<string, void, void> {
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

/** About how many characters it takes; of more than `most`, no more than that it is more. */
function weighed(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return PLAIN
  // What it makes is not known yet.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return most + 1
  let sum = PLAIN
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && sum <= most; i++) sum += weighed(value[i], most - sum)
    return sum
  }
  for (const name in value) {
    sum += name.length + 3 + weighed((value as Record<string, unknown>)[name], most - sum)
    if (sum > most) break
  }
  return sum
}
