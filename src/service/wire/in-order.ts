import type { Part } from '../../contract/index.js'

/**
 * The parts of a choice for interfaces in which one thing is over before the next begins: an engine may write calls side by
 * side, or speak meanwhile. What comes while a call is not whole waits until it is, or until the answer ends.
 */
export class InOrder {
  readonly #tell: (part: Part) => void
  /** The call that is being told. */
  #open: number | undefined
  /** Of its arguments so far, which may be too long to be read anew for each piece: how deep they are, and in which text. */
  #depth = 0
  #inText = false
  #isEscaped = false
  #isWhole = false
  readonly #over = new Set<number>()
  #waiting: Part[] = []

  constructor(tell: (part: Part) => void) {
    this.#tell = tell
  }

  take(part: Part): void {
    if (part.type === 'finish') while (this.#waiting.length > 0) this.#goOn()
    else if (part.type === 'tool-call-delta') {
      this.#call(part)
      return
    } else if (part.type !== 'usage' && part.type !== 'prompt' && !this.#free()) {
      this.#waiting.push(part)
      return
    }
    this.#tell(part)
  }

  #call(part: Part & { type: 'tool-call-delta' }): void {
    const { index, arguments: text } = part
    if (this.#over.has(index)) {
      if (text.trim() !== '')
        throw new Error(`The engine went on with tool call ${index} after its arguments were whole.`)
      return
    }
    if (index !== this.#open) {
      if (!this.#free()) {
        this.#waiting.push(part)
        return
      }
      this.#open = index
    }
    this.#read(text)
    this.#tell(part)
    if (this.#waiting.length > 0 && this.#isWhole) this.#goOn()
  }

  /** Whether something else may begin. */
  #free(): boolean {
    if (this.#open !== undefined && !this.#isWhole) return false
    this.#end()
    return true
  }

  #end(): void {
    if (this.#open !== undefined) this.#over.add(this.#open)
    this.#open = undefined
    this.#depth = 0
    this.#inText = this.#isEscaped = this.#isWhole = false
  }

  #goOn(): void {
    this.#end()
    const waiting = this.#waiting
    this.#waiting = []
    for (const part of waiting) this.take(part)
  }

  #read(json: string): void {
    for (const mark of json) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#inText) {
        this.#inText = mark !== '"'
        this.#isEscaped = mark === '\\'
      } else if (mark === '"') this.#inText = true
      else if (mark === '{' || mark === '[') this.#depth++
      else if (mark === '}' || mark === ']') this.#isWhole = --this.#depth === 0 && mark === '}'
    }
  }
}
