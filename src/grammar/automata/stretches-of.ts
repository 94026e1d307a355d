/** What texts' stretches are made of: their characters by classes, and where they may be cut. */

import { bordersOf, type Slices } from '../../platform/index.js'
import { FIRST_LETTER, MOST_LETTERS } from './sparse.js'
import { Stretches } from './stretches.js'
import { BREAK } from './suffixes.js'
import { TextError } from './types.js'

/** In UTF-16 code units, all texts together. */
export const MOST_TEXT = 2 ** 20
/** All stretches of these texts; a stretch lies in one of them. Throws `TextError` for texts that are too long. */
export function* stretchesOf(texts: readonly string[]): Slices<Stretches> {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length > MOST_TEXT) throw new TextError(`the texts to quote from have more than ${MOST_TEXT} characters`)
  const all = texts.map(codePointsOf)
  yield
  const letters = new Letters(all)
  yield
  const places = all.reduce((sum, text) => sum + text.length + 1, 0)
  const classes = new Uint16Array(places)
  const borders = new Uint8Array(places)
  let at = 0
  for (const text of all) {
    letters.classify(text, classes, at)
    yield
    borders.set(bordersOf(text), at)
    yield
    at += text.length + 1
  }
  const stretches = new Stretches(letters.list, classes, borders)
  yield
  if (stretches.repeatsItself()) yield* stretches.wholeInSlices()
  return stretches
}

function codePointsOf(text: string): Int32Array {
  const found = new Int32Array(text.length)
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i)!
    found[count++] = codePoint
    if (codePoint > 0xffff) i++
  }
  return found.subarray(0, count)
}

/** What texts are written in. */
class Letters {
  readonly list: Uint32Array
  readonly #basic = new Uint16Array(0x10000)
  readonly #others = new Map<number, number>()

  constructor(texts: readonly Int32Array[]) {
    const basic = this.#basic
    for (const text of texts) {
      for (let i = 0; i < text.length; i++) {
        const codePoint = text[i]!
        if (codePoint < 0x10000) basic[codePoint] = FIRST_LETTER
        else this.#others.set(codePoint, FIRST_LETTER)
      }
    }
    const found = [...this.#others.keys()]
    for (let at = basic.indexOf(FIRST_LETTER); at >= 0; at = basic.indexOf(FIRST_LETTER, at + 1)) {
      if ((at & ~0x7ff) !== 0xd800) found.push(at)
    }
    this.list = Uint32Array.from(found).sort()
    if (found.length > MOST_LETTERS)
      throw new TextError(`the texts to quote from have more than ${MOST_LETTERS} different characters`)
    basic.fill(BREAK)
    this.list.forEach((letter, i) => {
      if (letter < 0x10000) basic[letter] = FIRST_LETTER + i
      else this.#others.set(letter, FIRST_LETTER + i)
    })
  }

  /** Lone surrogates are breaks: no JSON in UTF-8 can hold them. */
  classify(text: Int32Array, into: Uint16Array, at: number): void {
    const basic = this.#basic
    for (let i = 0; i < text.length; i++) {
      const codePoint = text[i]!
      into[at + i] = codePoint < 0x10000 ? basic[codePoint]! : this.#others.get(codePoint)!
    }
  }
}
