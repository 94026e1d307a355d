import { getOrMake } from '../../platform/index.js'
import type { Classes } from '../automata/classes.js'
import type { Fuel } from '../fuel.js'
import type { Ends } from './cheapest-ends.js'
import { CheapestFirst } from './cheapest-first.js'
import { encoded, IN_JSON, MOST_BYTES } from './text-length.js'
import type { KeyAutomaton, Value } from './value.js'

/** How far the search gives up. */
const MOST_VISITED = 2000
/** Characters of one class that are tried, at most. */
const MOST_LETTERS = 256

export interface Wanted {
  /** Where the key stands: what has come of it led here. */
  readonly from: number
  /** Whether what follows makes a key that has not come yet. */
  readonly fresh: (rest: string) => boolean
  /** No more keys than this are not fresh. */
  readonly taken: number
  readonly count: number
  /** What the value behind a key adds to its cost. */
  readonly behind: (value: Value) => number
}

/** So many, those that are not fresh counted, are looked for once: who must have as many members asks again for each. */
const FEW = 16

/** The cheapest acceptable keys, at most `count`, the cheapest first: its bytes in JSON, and what stands behind it. */
export function freshKeys(keys: KeyAutomaton, wanted: Wanted, fuel?: Fuel): string[] {
  if (wanted.from === 0) return []
  const most = wanted.count + wanted.taken
  if (most <= FEW || wanted.from !== keys.text.start || fuel !== undefined) return searched(keys, wanted, fuel)
  // Of thousands that are taken few are among the cheapest.
  for (let count = Math.min(2 * wanted.count, most); ; count = Math.min(4 * count, most)) {
    const all = cheapestKeys(keys, wanted.behind, count)
    const found: string[] = []
    for (const key of all) {
      if (found.length >= wanted.count) break
      if (wanted.fresh(key)) found.push(key)
    }
    if (found.length >= wanted.count || all.length < count || count === most) return found
  }
}

interface Cheapest {
  readonly behind: string
  readonly found: readonly string[]
  /** As many as were looked for. */
  readonly count: number
}

const cheapest = new WeakMap<KeyAutomaton, Cheapest>()

/** At least the first `count` of all keys, or as many as a search finds. */
function cheapestKeys(keys: KeyAutomaton, behind: Wanted['behind'], count: number): readonly string[] {
  const costs = keys.values.map(behind).join()
  const known = cheapest.get(keys)
  if (known?.behind === costs && known.count >= count) return known.found
  let size = 2 * FEW
  while (size < count) size *= 2
  const found = searched(keys, { from: keys.text.start, fresh: () => true, taken: 0, count: size, behind })
  cheapest.set(keys, { behind: costs, found, count: size })
  return found
}

function searched(keys: KeyAutomaton, wanted: Wanted, fuel?: Fuel): string[] {
  const ends = endsOf(keys, wanted.behind, fuel)
  // Of a class whose characters all lead on alike, more than so many cannot be needed.
  const letters = alphabet(keys.text.classes, Math.min(wanted.count + wanted.taken, MOST_LETTERS))
  return new Search(keys, wanted, ends, letters, fuel).found
}

interface Place {
  /** -1: the key ends. */
  readonly state: number
  readonly text: string
  readonly cost: number
  /** Where each kind of letter leads, and what the key then costs at the least: those that cost as much are to be added. */
  readonly on?: readonly { readonly state: number; readonly cost: number }[]
}

class Search {
  readonly found: string[] = []
  /**
   * By the cost that a key will have at the least, so that the way to a long obligatory ending is straight; the latest
   * first, so that one key comes to its end before another is begun.
   */
  readonly #waiting = new CheapestFirst<Place>()

  constructor(
    keys: KeyAutomaton,
    { from, fresh, count, behind }: Wanted,
    { from: least }: Ends,
    { letters, kinds, firsts }: Alphabet,
    fuel: Fuel | undefined,
  ) {
    this.#waiting.add({ state: from, text: '', cost: 0 }, least(from))
    for (let visited = 0; ; ) {
      const next = this.#waiting.next()
      if (next === undefined) return
      const { state, text, cost, on } = next.item
      if (on) {
        for (let i = letters.length - 1; i >= 0; i--) {
          const to = on[kinds[i]!]!
          const { letter, bytes } = letters[i]!
          if (to.cost === next.cost)
            this.#waiting.add({ state: to.state, text: text + letter, cost: cost + bytes }, next.cost)
        }
        continue
      }
      if (state < 0) {
        if (fresh(text)) this.found.push(text)
        if (this.found.length >= count) return
        continue
      }
      if (visited++ > MOST_VISITED) return
      fuel?.spend(letters.length >> 3)
      const further = firsts.map(({ codePoint, bytes }) => {
        const to = keys.text.next(state, codePoint)
        return { state: to, cost: to === 0 ? Infinity : cost + bytes + least(to) }
      })
      // Most places are never come to again: their letters are added when it is their turn.
      for (const each of new Set(further.map((to) => to.cost))) {
        this.#waiting.add({ state, text, cost, on: further }, each)
      }
      const value = keys.value(state)
      if (value !== undefined) this.#waiting.add({ state: -1, text, cost }, cost + behind(value))
    }
  }
}

const known = new WeakMap<KeyAutomaton, { readonly behind: string; readonly ends: Ends }>()

/** By state of their text what the cheapest key costs. What stands behind keys is not final while it is measured. */
export function endsOf(keys: KeyAutomaton, behind: (value: Value) => number, fuel?: Fuel): Ends {
  const costs = keys.values.map(behind).join()
  const before = known.get(keys)
  if (before?.behind === costs) return before.ends
  const end = (state: number) => {
    const value = keys.value(state)
    return value === undefined ? Infinity : behind(value)
  }
  const ends = IN_JSON.cheapest(keys.text, end, Math.min(...keys.values.map(behind)), fuel)
  known.set(keys, { behind: costs, ends })
  return ends
}

interface Letter {
  readonly letter: string
  readonly codePoint: number
  readonly bytes: number
}

interface Alphabet {
  readonly letters: readonly Letter[]
  /** By letter: those of one kind lead from every place to the same one, and cost the same. */
  readonly kinds: readonly number[]
  /** One letter of each kind. */
  readonly firsts: readonly Letter[]
}

const alphabets = new WeakMap<Classes, Map<number, Alphabet>>()

/** Of each class the `few` characters that JSON writes shortest, letters and digits first. */
function alphabet(classes: Classes, few: number): Alphabet {
  let size = 1
  while (size < few) size *= 2
  const all = getOrMake(alphabets, classes, () => new Map<number, Alphabet>())
  return getOrMake(all, size, () => {
    const letters = shortest(classes, size)
    const known = new Map<number, number>()
    const firsts: Letter[] = []
    const kinds = letters.map((letter) => {
      const kind = classes.of(letter.codePoint) * (MOST_BYTES + 1) + letter.bytes
      return getOrMake(known, kind, () => firsts.push(letter) - 1)
    })
    return { letters, kinds, firsts }
  })
}

/** Where characters begin to take another number of bytes. */
const ZONES = [0, 0x20, 0x7f, 0x800, 0x10000, 0x110000]

function shortest(classes: Classes, few: number): Letter[] {
  const byClass: Letter[][] = Array.from({ length: classes.count }, () => [])
  for (let i = 0; i < classes.ids.length; i++) {
    const own = byClass[classes.ids[i]!]!
    if (classes.ids[i] === 0) continue
    for (let zone = 1; zone < ZONES.length; zone++) {
      const from = Math.max(classes.starts[i]!, ZONES[zone - 1]!)
      // All of ASCII: which of it is escaped has no order.
      const most = zone <= 2 ? Infinity : few
      const to = Math.min(classes.end(i), ZONES[zone]! - 1, from + most - 1)
      for (let c = from; c <= to; c++) {
        own.push({ letter: String.fromCodePoint(c), codePoint: c, bytes: encoded(c).length })
      }
    }
  }
  const order = (a: Letter, b: Letter) =>
    a.bytes - b.bytes || rankOf(a.letter) - rankOf(b.letter) || a.codePoint - b.codePoint
  return byClass.flatMap((own) => own.sort(order).slice(0, few)).sort(order)
}

const FIRST = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'

function rankOf(letter: string): number {
  const at = FIRST.indexOf(letter)
  return at < 0 ? FIRST.length : at
}
