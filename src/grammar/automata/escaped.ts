/** Languages as they stand inside a JSON string. */

import { getOrMake } from '../../platform/index.js'
import { Fuel } from '../fuel.js'
import type { CharSet } from './charset.js'
import { NEVER, partition, refine } from './classes.js'
import { minimise } from './minimise.js'
import { NO_TEXT } from './sets.js'
import { DEAD, type TextAutomaton } from './types.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const CONTROLS: CharSet = [0, 0x1f]
/** What JSON writes as a backslash and one letter. */
const SHORT: ReadonlyMap<string, number> = new Map(
  [QUOTE, BACKSLASH, 8, 9, 10, 12, 13].map((code) => [written(code)[1]!, code]),
)
/** What JSON writes with four digits, by the last two. */
const LONG: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 0x20 }, (_, code) => [written(code), code] as const)
    .filter(([text]) => text.length === 6)
    .map(([text, code]) => [text.slice(4), code]),
)

function written(code: number): string {
  return JSON.stringify(String.fromCharCode(code)).slice(1, -1)
}

const LETTERS = new Set([...SHORT.keys(), 'u', ...[...LONG.keys()].join('')])
const { classes: ESCAPES } = partition([...[...LETTERS].map((letter): CharSet => one(letter)), CONTROLS])

function one(letter: string): CharSet {
  const code = letter.codePointAt(0)!
  return [code, code]
}

/** The same texts, each character as `JSON.stringify` writes it inside a string. */
export function escapedTexts(text: TextAutomaton, fuel = new Fuel()): TextAutomaton {
  if (text.empty) return NO_TEXT
  const { classes, left } = refine(text.classes, ESCAPES)
  const width = classes.count
  fuel.spend(width)
  /** A state of the text, and how much of an escape was read behind it. */
  const places: { readonly state: number; readonly read: string }[] = []
  const known = new Map<string, number>()
  const numberOf = (state: number, read: string): number => {
    if (state === DEAD) return DEAD
    const key = `${state} ${read}`
    return getOrMake(known, key, () => places.push({ state, read }))
  }
  const start = numberOf(text.start, '')
  const table: number[] = Array.from({ length: width }, () => DEAD)
  for (const { state, read } of places) {
    fuel.spend(width)
    for (let cls = 0; cls < width; cls++) {
      if (cls === NEVER) table.push(DEAD)
      else if (read === '') table.push(plain(cls))
      else table.push(within(String.fromCodePoint(classes.sample(cls))))
    }

    /** A character outside of escapes: the classes are cut where one begins. */
    function plain(cls: number): number {
      const code = classes.sample(cls)
      if (code === BACKSLASH) return begun('\\')
      return code === QUOTE || code < 0x20 ? DEAD : numberOf(text.step(state, left[cls]!), '')
    }

    function within(letter: string): number {
      const short = read === '\\' ? SHORT.get(letter) : undefined
      if (short !== undefined) return numberOf(text.next(state, short), '')
      const long = LONG.get((read + letter).slice(4))
      return long !== undefined && read.length === 5 ? numberOf(text.next(state, long), '') : begun(read + letter)
    }

    /** So much of an escape, where one that begins so leads on. */
    function begun(so: string): number {
      const leads = ([...SHORT.values(), ...LONG.values()] as number[]).some(
        (code) => written(code).startsWith(so) && written(code) !== so && text.next(state, code) !== DEAD,
      )
      return leads ? numberOf(state, so) : DEAD
    }
  }
  const accepting = Uint8Array.from([0, ...places.map(({ state, read }) => +(read === '' && text.accepts(state)))])
  return minimise(start, classes, Uint32Array.from(table), accepting)
}
