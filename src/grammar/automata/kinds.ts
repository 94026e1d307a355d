/**
 * Kinds of characters, one bit each: what a subtree of a vocabulary holds, and what a place in a string lets pass, are
 * compared in one step. A byte that begins a character tells its kind.
 */

import type { Classes } from './classes.js'
import { DEAD, type TextAutomaton } from './types.js'

/** Never passes: quotes and backslashes, bytes that begin no character, characters that are not well-formed. */
export const SPECIAL = 1
/** No kind passes: outside of free text. */
export const NONE_PASS = -1
/** Whatever stands for a character passes, escapes too. */
export const ALL_PASS = 0

/** Apart where patterns tend to tell them apart. */
const ASCII = [
  'abcdef',
  'ghijklmnopqrstuvwxyz',
  'ABCDEF',
  'GHIJKLMNOPQRSTUVWXYZ',
  '0123456789',
  ...' -_./:@+,%#',
  "!$&'()*;=?~",
  '<>[]^`{|}\x7f',
]
/** The first of the leading bytes of each kind, and the first code point that UTF-8 begins so. */
const BEYOND = [
  [0xc2, 0x80],
  [0xc4, 0x100],
  [0xce, 0x380],
  [0xd5, 0x540],
  [0xe0, 0x800],
  [0xe1, 0x1000],
  [0xe2, 0x2000],
  [0xe3, 0x3000],
  [0xe4, 0x4000],
  [0xea, 0xa000],
  [0xee, 0xe000],
  [0xf0, 0x10000],
  [0xf5, 0x110000],
] as const

/** Bit 0 is SPECIAL's. */
const bitOf = (i: number) => 1 << (i + 1)
// As a bit operation has it, which may take all 32.
const EVERY_KIND = (bitOf(ASCII.length + BEYOND.length - 1) - 1) | 0

/** By byte: the kind of the characters that it begins. */
export const KIND = kinds()

function kinds(): Int32Array {
  const found = new Int32Array(256).fill(SPECIAL)
  ASCII.forEach((letters, i) => {
    for (const letter of letters) found[letter.charCodeAt(0)] = bitOf(i)
  })
  for (let i = 0; i + 1 < BEYOND.length; i++) {
    found.fill(bitOf(ASCII.length + i), BEYOND[i]![0], BEYOND[i + 1]![0])
  }
  return found
}

const touched = new WeakMap<Classes, Int32Array>()

/** For each class the kinds of its characters. */
function kindsOf(classes: Classes): Int32Array {
  let found = touched.get(classes)
  if (found === undefined) {
    found = new Int32Array(classes.count)
    for (let i = 0; i < classes.ids.length; i++)
      found[classes.ids[i]!]! |= kindsBetween(classes.starts[i]!, classes.end(i))
    touched.set(classes, found)
  }
  return found
}

function kindsBetween(low: number, high: number): number {
  let found = 0
  for (let c = low; c <= high && c < 0x80; c++) found |= KIND[c]!
  for (let i = 0; i + 1 < BEYOND.length; i++) {
    if (low < BEYOND[i + 1]![1] && high >= BEYOND[i]![1]) found |= bitOf(ASCII.length + i)
  }
  return found
}

/** The kinds of characters that do not all lead back to the same place, limits on length aside. */
export function leaving(text: TextAutomaton, state: number): number {
  if (text.sparse) return NONE_PASS
  const found = kindsOf(text.classes)
  let leaves = SPECIAL
  // Class 0 holds the lone surrogates, which no token holds.
  for (let cls = 1; cls < found.length; cls++) if (!text.repeats(state, cls)) leaves |= found[cls]!
  return leaves === EVERY_KIND ? NONE_PASS : leaves
}

/** Whether all characters lead back to the same place, limits on length aside. */
export function isLevel(text: TextAutomaton, state: number): boolean {
  for (let cls = 1; cls < text.classes.count; cls++) if (!text.repeats(state, cls)) return false
  return true
}

/** How many characters are looked ahead, and at how many places at most. */
const AHEAD = 24
const MOST_PLACES = 400

/**
 * Characters that may come in any order though they lead from place to place: how many of them, and the kinds of all
 * others. Undefined where there are none, or finding out takes too long.
 */
export function roaming(text: TextAutomaton, start: number): { leaving: number; room: number } | undefined {
  if (text.sparse) return undefined
  const width = text.classes.count
  const among = new Uint8Array(width).fill(1)
  // Leaves out every class that is dead somewhere on the way, until none is.
  for (let changed = true; changed; ) {
    changed = false
    const seen = new Set([start])
    let layer = [start]
    for (let depth = 0; depth < AHEAD && layer.length > 0; depth++) {
      const next: number[] = []
      for (const state of layer) {
        for (let cls = 1; cls < width; cls++) {
          if (among[cls] === 0) continue
          const after = text.step(state, cls)
          if (after === DEAD) {
            among[cls] = 0
            changed = true
          } else if (!seen.has(after)) {
            seen.add(after)
            next.push(after)
          }
        }
      }
      if (seen.size > MOST_PLACES) return undefined
      layer = next
    }
  }
  const found = kindsOf(text.classes)
  let leaves = SPECIAL
  for (let cls = 1; cls < found.length; cls++) if (among[cls] === 0) leaves |= found[cls]!
  return leaves === EVERY_KIND ? undefined : { leaving: leaves, room: AHEAD }
}
