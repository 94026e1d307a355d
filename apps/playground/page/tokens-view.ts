import { el } from './dom.js'
import type { Piece } from './generation.js'

/**
 * The answer as it was generated: what the grammar decided in one colour, each token that the model chose in another. The
 * dense JSON has line breaks and indents of our own. Of an answer that goes on only what is new is drawn.
 */
export class TokensView {
  readonly element = el('pre', { class: 'tokens', translate: 'no' })
  #first: Piece | undefined
  #count = 0
  #depth = 0
  #inString = false
  #escaped = false
  #opened = false

  show(pieces: readonly Piece[]): void {
    // Another answer, or the same one from its beginning.
    if (pieces[0] !== this.#first) {
      this.#first = pieces[0]
      this.#count = this.#depth = 0
      this.#inString = this.#escaped = this.#opened = false
      this.element.replaceChildren()
    }
    for (; this.#count < pieces.length; this.#count++) this.#take(pieces[this.#count]!)
  }

  #take({ text, forced }: Piece): void {
    let run = ''
    const lay = (own: string) => {
      if (run !== '') this.element.append(el('span', { class: forced === undefined ? 'sampled' : 'forced' }, run))
      if (own !== '') this.element.append(own)
      run = ''
    }
    const newLine = () => lay(`\n${'  '.repeat(this.#depth)}`)
    for (const character of text) {
      if (this.#inString) {
        run += character
        if (this.#escaped) this.#escaped = false
        else if (character === '\\') this.#escaped = true
        else if (character === '"') this.#inString = false
        continue
      }
      if (/\s/.test(character)) continue
      const closes = character === '}' || character === ']'
      // A server's answer need not be whole JSON.
      if (closes && this.#depth > 0) this.#depth--
      if (this.#opened !== closes) newLine()
      this.#opened = false
      run += character
      if (character === '"') this.#inString = true
      if (character === '{' || character === '[') {
        this.#depth++
        this.#opened = true
      } else if (character === ',') newLine()
      else if (character === ':') lay(' ')
    }
    lay('')
  }
}
