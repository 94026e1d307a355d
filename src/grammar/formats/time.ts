/**
 * Times of day, RFC 3339, with leap seconds: `:60` only where it is 23:59 in UTC. Whether it is depends on the offset
 * that follows, so each minute that may hold one needs states of its own; the table is laid out by hand. Leap seconds
 * are accepted under offsets of whole quarters of an hour, as all time zones have them: 96 minutes instead of 1440.
 */

import { partition, refine } from '../automata/classes.js'
import { minimise } from '../automata/minimise.js'
import { TableAutomaton } from '../automata/table.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { compileRegex } from '../regex/regex.js'

const MINUTES = 1440
const QUARTER = 15
const DIGIT_SETS = Array.from({ length: 10 }, (_, d) => [0x30 + d, 0x30 + d])
const COLON = 10
const POINT = 11
const ZULU = 12
const PLUS = 13
const MINUS = 14
const SIGNS = [
  [0x3a, 0x3a],
  [0x2e, 0x2e],
  [0x5a, 0x5a, 0x7a, 0x7a],
  [0x2b, 0x2b],
  [0x2d, 0x2d],
]

/** Seconds below 60, then the offset: what follows the minute of any ordinary time. */
const REST = '^:[0-5]\\d(?:\\.\\d+)?(?:[zZ]|[+\\-](?:[01]\\d|2[0-3]):[0-5]\\d)$'

class Rows {
  readonly list: number[][] = [[]]

  add(): number {
    return this.list.push([]) - 1
  }

  link(from: number, symbol: number, to: number): void {
    this.list[from]![symbol] = to
  }

  /** The state after a symbol, made if need be. */
  child(from: number, symbol: number): number {
    const known = this.list[from]![symbol]
    if (known !== undefined) return known
    const made = this.add()
    this.link(from, symbol, made)
    return made
  }
}

/** Half-read offsets: what remains of `HH:MM` is shared by all that read the same remainder. */
class Offsets {
  private readonly rows: Rows
  private readonly known = new Map<string, number>()
  readonly end: number

  constructor(rows: Rows, end: number) {
    this.rows = rows
    this.end = end
  }

  state(remainder: string): number {
    if (remainder === '') return this.end
    let state = this.known.get(remainder)
    if (state === undefined) {
      state = this.rows.add()
      this.known.set(remainder, state)
      const symbol = remainder[0] === ':' ? COLON : Number(remainder[0])
      this.rows.link(state, symbol, this.state(remainder.slice(1)))
    }
    return state
  }
}

function clock(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

function build(): TableAutomaton {
  const rows = new Rows()
  const { classes, members } = partition([...DIGIT_SETS, ...SIGNS])
  const rest = compileRegex(REST)
  const symbols = members.map((holds) => holds.indexOf(1))
  // The ordinary rest, copied in: the state of `rest` numbered s stands at `at + s`.
  const at = rows.list.length - 1
  for (let s = 1; s < rest.states; s++) rows.add()
  for (let s = 1; s < rest.states; s++) {
    symbols.forEach((cls, symbol) => {
      const next = rest.next(s, classes.sample(cls))
      if (next !== DEAD) rows.link(at + s, symbol, at + next)
    })
  }
  const colon = at + rest.next(rest.start, 0x3a)
  const end = rows.add()
  const offsets = new Offsets(rows, end)
  const start = rows.add()
  for (let minute = 0; minute < MINUTES; minute++) {
    const symbols = Array.from(clock(minute), (character) => (character === ':' ? COLON : Number(character)))
    const last = symbols.pop()!
    const before = symbols.reduce((state, symbol) => rows.child(state, symbol), start)
    if ((minute + 1) % QUARTER !== 0) {
      rows.link(before, last, at + rest.start)
      continue
    }
    const state = rows.child(before, last)
    const seconds = rows.child(state, COLON)
    for (let d = 0; d < 6; d++) rows.link(seconds, d, rows.list[colon]![d]!)
    leap(rows, offsets, rows.child(rows.child(seconds, 6), 0), minute)
  }
  return finish(
    rows,
    symbols,
    classes,
    start,
    (s) => s === end || (s > at && s < at + rest.states && rest.accepts(s - at)),
  )
}

/** From `:60`: an optional fraction, then exactly the offsets that make it 23:59 in UTC. */
function leap(rows: Rows, offsets: Offsets, state: number, minute: number): void {
  const fraction = rows.add()
  const more = rows.add()
  rows.link(state, POINT, fraction)
  for (let d = 0; d < 10; d++) {
    rows.link(fraction, d, more)
    rows.link(more, d, more)
  }
  const ahead = offsets.state(clock((minute + 1) % MINUTES))
  const behind = offsets.state(clock((MINUTES - 1 - minute) % MINUTES))
  for (const from of [state, more]) {
    if (minute === MINUTES - 1) rows.link(from, ZULU, offsets.end)
    rows.link(from, PLUS, ahead)
    rows.link(from, MINUS, behind)
  }
}

function finish(
  rows: Rows,
  symbols: readonly number[],
  classes: TableAutomaton['classes'],
  start: number,
  accepts: (state: number) => boolean,
): TableAutomaton {
  const width = classes.count
  const table = new Uint32Array(rows.list.length * width)
  rows.list.forEach((row, state) => {
    row.forEach((to, symbol) => {
      table[state * width + symbols[symbol]!] = to
    })
  })
  return minimise(
    start,
    classes,
    table,
    Uint8Array.from(rows.list, (_, s) => (accepts(s) ? 1 : 0)),
  )
}

let cached: TableAutomaton | undefined

export function time(): TableAutomaton {
  cached ??= build()
  return cached
}

/** `date`, then `T`, then a time. Nothing follows a complete date, so its end becomes the place of the `T`. */
export function dateTime(date: TextAutomaton): TableAutomaton {
  const { classes, right } = refine(
    refine(date.classes, partition([[0x54, 0x54, 0x74, 0x74]]).classes).classes,
    time().classes,
  )
  const clockPart = time()
  const width = classes.count
  const table = new Uint32Array((date.states + clockPart.states - 1) * width)
  const shift = date.states - 1
  for (let cls = 1; cls < width; cls++) {
    const sample = classes.sample(cls)
    const separates = sample === 0x54 || sample === 0x74
    for (let s = 1; s < date.states; s++) {
      table[s * width + cls] = date.accepts(s) && separates ? clockPart.start + shift : date.next(s, sample)
    }
    for (let s = 1; s < clockPart.states; s++) {
      const next = clockPart.step(s, right[cls]!)
      table[(s + shift) * width + cls] = next === DEAD ? DEAD : next + shift
    }
  }
  const accepting = new Uint8Array(table.length / width)
  for (let s = 1; s < clockPart.states; s++) accepting[s + shift] = clockPart.accepts(s) ? 1 : 0
  return new TableAutomaton(date.start, classes, table, accepting)
}
