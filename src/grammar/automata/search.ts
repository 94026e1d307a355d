/** Texts by the words that occur in them, as Aho and Corasick find them. */

import { Fuel } from '../fuel.js'
import { EVERY } from './charset.js'
import { type Classes, partition } from './classes.js'
import { minimise } from './minimise.js'
import { ANY_TEXT } from './sets.js'
import type { TextAutomaton } from './types.js'

/** Any text in which none of these words occurs. */
export function textsWithout(words: readonly string[], fuel = new Fuel()): TextAutomaton {
  if (words.length === 0) return ANY_TEXT
  const { classes, next, found } = search(words, fuel)
  const width = classes.count
  const table = next.map((state) => (found[state]!.length > 0 ? 0 : state))
  const accepting = Uint8Array.from(found, (words, state) => (state > 0 && words.length === 0 ? 1 : 0))
  for (let state = 1; state < found.length; state++) {
    if (found[state]!.length > 0) table.fill(0, state * width, (state + 1) * width)
  }
  return minimise(1, classes, table, accepting)
}

/** For each of these words: the texts that end with it, in which none of them occurs before. */
export function textsUpTo(words: readonly string[], fuel = new Fuel()): TextAutomaton[] {
  const { classes, next, found } = search(words, fuel)
  const width = classes.count
  const table = next.slice()
  for (let state = 1; state < found.length; state++) {
    if (found[state]!.length > 0) table.fill(0, state * width, (state + 1) * width)
  }
  return words.map((_, i) => {
    fuel.spend(table.length >> 3)
    const accepting = Uint8Array.from(found, (words) => (words.includes(i) ? 1 : 0))
    return minimise(1, classes, table.slice(), accepting)
  })
}

interface Search {
  readonly classes: Classes
  /** `state * classes.count + class` -> state; 0 is dead, 1 the start. */
  readonly next: Uint32Array
  /** The words that end in a state. */
  readonly found: readonly (readonly number[])[]
}

function search(words: readonly string[], fuel: Fuel): Search {
  const letters = words.map((word) => Array.from(word, (letter) => letter.codePointAt(0)!))
  const distinct = [...new Set(letters.flat())]
  const { classes } = partition([...distinct.map((letter) => [letter, letter]), EVERY], fuel)
  const width = classes.count
  const children: Map<number, number>[] = [new Map(), new Map()]
  const found: number[][] = [[], []]
  letters.forEach((word, i) => {
    let state = 1
    for (const letter of word) {
      const cls = classes.of(letter)
      let child = children[state]!.get(cls)
      if (child === undefined) {
        child = children.push(new Map()) - 1
        found.push([])
        children[state]!.set(cls, child)
      }
      state = child
    }
    found[state]!.push(i)
  })
  fuel.spend(children.length * width)
  const next = new Uint32Array(children.length * width)
  // Where a word does not go on, the longest beginning of a word that the text ends with does: found level by level.
  const fallback = new Uint32Array(children.length).fill(1)
  const order = [1]
  for (let i = 0; i < order.length; i++) {
    const state = order[i]!
    for (let cls = 1; cls < width; cls++) {
      const child = children[state]!.get(cls)
      const other = state === 1 ? 1 : next[fallback[state]! * width + cls]!
      if (child === undefined) next[state * width + cls] = other
      else {
        next[state * width + cls] = child
        fallback[child] = other
        found[child]!.push(...found[other]!)
        order.push(child)
      }
    }
  }
  return { classes, next, found }
}
