/** Finite languages. */

import { Fuel } from '../fuel.js'
import type { CharSet } from './charset.js'
import { partition } from './classes.js'
import { minimise } from './minimise.js'
import { NO_TEXT } from './sets.js'
import { TableAutomaton } from './table.js'
import type { TextAutomaton } from './types.js'

/** The texts of one character of this set. */
export function oneCharacterOf(set: CharSet): TextAutomaton {
  if (set.length === 0) return NO_TEXT
  const { classes, members } = partition([set])
  const table = new Uint32Array(classes.count * 3)
  for (let cls = 1; cls < classes.count; cls++) if (members[0]![cls] === 1) table[classes.count + cls] = 2
  return new TableAutomaton(1, classes, table, Uint8Array.of(0, 0, 1))
}

/** Exactly these texts. Those with lone surrogates cannot be written and are left out. */
export function literalSet(texts: Iterable<string>, fuel = new Fuel()): TextAutomaton {
  const words = [...texts]
    .filter((text) => !/\p{Surrogate}/u.test(text))
    .map((text) => Array.from(text, (c) => c.codePointAt(0)!))
  if (words.length === 0) return NO_TEXT
  const letters = [...new Set(words.flat())]
  fuel.spend(words.reduce((sum, word) => sum + word.length, letters.length))
  const { classes } = partition(letters.map((letter) => [letter, letter]))
  const width = classes.count
  const children: Map<number, number>[] = [new Map(), new Map()]
  const accepting = [0, 0]
  for (const word of words) {
    let state = 1
    for (const letter of word) {
      const cls = classes.of(letter)
      let next = children[state]!.get(cls)
      if (next === undefined) {
        next = children.push(new Map()) - 1
        accepting.push(0)
        children[state]!.set(cls, next)
      }
      state = next
    }
    accepting[state] = 1
  }
  fuel.spend(children.length * width)
  const table = new Uint32Array(children.length * width)
  children.forEach((row, state) => {
    for (const [cls, next] of row) table[state * width + cls] = next
  })
  return minimise(1, classes, table, Uint8Array.from(accepting))
}
