export interface ToolCallDelta {
  /** Given once, with the first piece. */
  readonly name?: string
  readonly arguments: string
}

const HEAD = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*/

/**
 * Takes a tool call apart while it is written: `{"name":"f","arguments":{...}}`, which the grammar guarantees. As long as
 * it may become an `earlier` call once more, nothing of it is told.
 */
export class ToolCallStream {
  readonly #earlier: readonly string[]
  #written = ''
  #text = ''
  #named = false

  constructor(earlier: readonly string[] = []) {
    this.#earlier = earlier
  }

  /** All that was written. */
  get written(): string {
    return this.#written
  }

  /** So far it is what an earlier call was. */
  get repeats(): boolean {
    return this.#earlier.some((call) => call.startsWith(this.#written))
  }

  push(text: string): ToolCallDelta | undefined {
    this.#written += text
    this.#text += text
    if (this.repeats) return undefined
    if (!this.#named) {
      const head = HEAD.exec(this.#text)
      if (head === null) return undefined
      this.#named = true
      this.#text = this.#text.slice(head[0].length)
      return { name: JSON.parse(head[1]!) as string, arguments: this.#take() }
    }
    const piece = this.#take()
    return piece === '' ? undefined : { arguments: piece }
  }

  /** All but an end that may be the brace which closes the call itself. */
  #take(): string {
    const held = /\s*\}?\s*$/.exec(this.#text)![0].length
    const piece = this.#text.slice(0, this.#text.length - held)
    this.#text = this.#text.slice(this.#text.length - held)
    return piece
  }
}
