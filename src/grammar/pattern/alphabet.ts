/** Which class of a program each unit of a text belongs to. */
import { type Classes, NEVER } from '../automata/classes.js'

const PLANE = 0x10000
/** What a lone surrogate is read as: what stands for it in UTF-8. */
const REPLACEMENT = 0xfffd

export class Alphabet {
  /** Of all that is one unit. */
  readonly #units = new Uint16Array(PLANE)
  readonly #classes: Classes
  readonly count: number

  constructor(classes: Classes) {
    this.#classes = classes
    this.count = classes.count
    for (let i = 0; i < classes.starts.length && classes.starts[i]! < PLANE; i++) {
      this.#units.fill(classes.ids[i]!, classes.starts[i]!, Math.min(classes.end(i) + 1, PLANE))
    }
    this.#units.fill(this.#units[REPLACEMENT]!, 0xd800, 0xe000)
  }

  /** Of no character: what stands at the end of a text. */
  get none(): number {
    return NEVER
  }

  /** The class of the character that begins here. */
  at(text: string, index: number): number {
    return isWithin(text, index + 1) ? this.#classes.of(text.codePointAt(index)!) : this.#units[text.charCodeAt(index)]!
  }
}

/** Whether a place lies between the halves of a character. */
export function isWithin(text: string, index: number): boolean {
  const low = text.charCodeAt(index)
  if (!(low >= 0xdc00 && low < 0xe000)) return false
  const high = text.charCodeAt(index - 1)
  return high >= 0xd800 && high < 0xdc00
}

/** Where the character before this place begins. */
export function before(text: string, index: number): number {
  return isWithin(text, index - 1) ? index - 2 : index - 1
}

/** Where the character that begins here ends. */
export function after(text: string, index: number): number {
  return isWithin(text, index + 1) ? index + 2 : index + 1
}
