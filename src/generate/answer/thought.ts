import type { ThoughtMarks } from '../thinking.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { TextOut } from './output.js'

/** What a token did to a thought. */
export interface ThoughtPiece {
  readonly text: string
  /** It ended the thought; `rest` is what came after the mark in the same token. */
  readonly closed: boolean
  readonly rest: string
}

/** A thought while it is written: where it ends, and its text without the white space around it. */
export class Thought {
  readonly budget: number
  /** Tokens so far, the mark at its end not counted. */
  tokens = 0
  readonly #tokenizer: Tokenizer
  /** The mark, where it is a token of its own. */
  readonly closing: number | undefined
  readonly #text: TextOut
  #begun = false
  /** White space that is shown once more follows it. */
  #space = ''

  #lead: string

  /** `lead`: text that may come first and belongs to the mark that opened it. */
  constructor(marks: ThoughtMarks, tokenizer: Tokenizer, budget: number, lead = '') {
    this.#lead = lead.trim()
    this.budget = budget
    this.#tokenizer = tokenizer
    this.closing = tokenizer.idOf(marks.close)
    this.#text = new TextOut([marks.close])
  }

  get spent(): boolean {
    return this.tokens >= this.budget
  }

  push(token: number): ThoughtPiece {
    if (token === this.closing) return { text: this.end(), closed: true, rest: '' }
    this.tokens++
    const { text, found, rest } = this.#text.push(this.#tokenizer.bytes(token))
    return { text: this.say(text), closed: found !== undefined, rest }
  }

  /** Nothing more comes: what was held back belongs to it after all. */
  end(): string {
    return this.say(this.#text.flush().text)
  }

  /** What of a further piece of text is shown now. */
  say(text: string): string {
    let more = text
    if (!this.#begun) {
      more = (this.#space + text).trimStart()
      this.#space = ''
      if (this.#lead !== '' && this.#lead.startsWith(more)) {
        this.#space = more
        return ''
      }
      if (more.startsWith(this.#lead)) more = more.slice(this.#lead.length).trimStart()
    }
    const words = more.trimEnd()
    // It may go on with blanks for ever: they are not looked at again.
    const shown = words === '' ? '' : this.#space + words
    this.#begun ||= words !== ''
    this.#space = (words === '' ? this.#space : '') + more.slice(words.length)
    return shown
  }
}
