import { isOfWord } from '../../platform/index.js'

/** Places that are looked at before a beginning is given up: of one letter, said again and again, each is one. */
const MOST_PLACES = 64

/** The texts that an answer may take values from, to be looked up by how a value begins. */
export class DraftSource {
  readonly #text: string
  /** As long as the text, in one case, and with one kind of blank. */
  readonly #folded: string
  /** Where the last value was found: the next one often stands behind it. */
  #last = 0

  constructor(texts: readonly string[]) {
    this.#text = texts.join('\n')
    this.#folded = folded(this.#text)
  }

  /** What follows a word, or several, that begin like `words`: `length` characters at most. Undefined: none does. */
  after(words: string, length: number): string | undefined {
    const beginning = folded(words)
    const end = this.#find(beginning, this.#last, this.#folded.length) ?? this.#find(beginning, 0, this.#last)
    return end === undefined ? undefined : this.#text.slice(end, end + length)
  }

  /** What stands behind a label, as forms and mails have them: `Name: `. */
  labelled(label: string, length: number): string | undefined {
    const name = folded(label).replaceAll(/[_-]/g, ' ')
    if (name.length < 2) return undefined
    for (const sign of SIGNS) {
      const at = this.#folded.indexOf(name + sign)
      if (at < 0) continue
      const from = at + name.length + sign.length
      return this.#text.slice(from, from + length).trimStart()
    }
    return undefined
  }

  #find(words: string, from: number, to: number): number | undefined {
    let at = from - 1
    for (let tries = 0; tries < MOST_PLACES; tries++) {
      at = this.#folded.indexOf(words, at + 1)
      if (at < 0 || at >= to) return undefined
      if (at > 0 && isOfWord(this.#text[at - 1]!)) continue
      this.#last = at
      return at + words.length
    }
    return undefined
  }
}

/** What stands between a label and what it says. */
const SIGNS = [':', ' is ', ' = ', '=']

function folded(text: string): string {
  const lower = text.toLowerCase()
  // A few capitals have two letters for their small one.
  const same = lower.length === text.length ? lower : text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return same.replaceAll(/[\t\n\r]/g, ' ')
}
