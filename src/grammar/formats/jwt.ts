/**
 * `jwt`: three parts in base64url, of which the first is the JSON of an algorithm and, if at all, of the type JWT, as zod
 * asks. Headers of one level, with texts alone and without white space, are written and taken.
 */

import { getOrMake, type Slices } from '../../platform/index.js'
import { partition } from '../automata/classes.js'
import { minimiseInSlices } from '../automata/minimise.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { compileRegexInSlices } from '../regex/regex.js'

const SAID = '[ !#-\\[\\]-~]'
const OTHER = `"(?!(?:alg|typ)")${SAID}+":"${SAID}*"`
const TYPE = '"typ":"JWT"'
const HEADER = `^\\{(?:${OTHER},)*(?:${TYPE},(?:${OTHER},)*)?"alg":"${SAID}+"(?:,${OTHER})*(?:,${TYPE}(?:,${OTHER})*)?\\}$`
/** No length leaves one over four: six bits are no byte. */
const PART = '(?:[\\w\\-]{4})*[\\w\\-]{2,4}'

/** For 0 to 61, those of base64 and base64url alike: `atob` reads no others. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const one = (character: string) => [character.charCodeAt(0), character.charCodeAt(0)]

export function* jwt(): Slices<TextAutomaton> {
  const header = yield* compileRegexInSlices(HEADER)
  const rest = yield* compileRegexInSlices(`^${PART}\\.${PART}$`)
  const { classes, members } = partition([...Array.from(LETTERS, one), one('.'), [...one('-'), ...one('_')]])
  const width = classes.count
  const symbols = members.map((member) => member.indexOf(1))
  // Where in the header a text is, and the bits of the next byte that are known.
  const states = [{ at: DEAD, bits: 0, count: 0 }]
  const ids = new Map<number, number>()
  const isWhole = (at: number, bits: number, count: number) => header.accepts(at) && bits === 0 && count < 6
  const stateOf = (at: number, bits: number, count: number): number => {
    const [low, open] = [bits << (8 - count), 8 - count]
    if (at === DEAD || !(isWhole(at, bits, count) || header.alive(at, low, low + (1 << open) - 1))) return DEAD
    return getOrMake(ids, (at * 64 + bits) * 8 + count, () => states.push({ at, bits, count }) - 1)
  }
  const start = stateOf(header.start, 0, 0)
  const rows: number[][] = [[]]
  for (let s = 1; s < states.length; s++) {
    if (s % 64 === 0) yield
    const { at, bits, count } = states[s]!
    const left = count - 2
    rows[s] = Array.from(LETTERS, (_, sextet) => {
      const known = (bits << 6) | sextet
      if (left < 0) return stateOf(at, known, 6)
      return stateOf(header.next(at, known >> left), known & ((1 << left) - 1), left)
    })
  }
  const shift = rows.length - 1
  const table = new Uint32Array((rows.length + rest.states - 1) * width)
  rows.forEach((row, s) => {
    row.forEach((to, sextet) => {
      table[s * width + symbols[sextet]!] = to
    })
    const { at, bits, count } = states[s]!
    if (isWhole(at, bits, count)) table[s * width + symbols[LETTERS.length]!] = rest.start + shift
  })
  const accepting = new Uint8Array(table.length / width)
  for (let s = 1; s < rest.states; s++) {
    accepting[s + shift] = rest.accepts(s) ? 1 : 0
    for (const symbol of symbols) {
      const next = rest.next(s, classes.sample(symbol))
      if (next !== DEAD) table[(s + shift) * width + symbol] = next + shift
    }
  }
  return yield* minimiseInSlices(start, classes, table, accepting)
}
