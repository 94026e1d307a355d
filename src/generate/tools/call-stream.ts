import type { CallReader, ToolCallDelta } from './format.js'

/**
 * A tool call while it is written, taken apart by its format's reader. As long as it may become an `earlier` call once
 * more, nothing of it is told.
 */
export class ToolCallStream {
  readonly #reader: CallReader
  /** Those that begin as it does. */
  #earlier: readonly string[]
  #written = ''
  /** Written, and kept from the reader. */
  #held = ''

  constructor(reader: CallReader, earlier: readonly string[] = []) {
    this.#reader = reader
    this.#earlier = earlier
  }

  /** All that was written. */
  get written(): string {
    return this.#written
  }

  /** So far it is what an earlier call was. */
  get repeats(): boolean {
    return this.#earlier.length > 0
  }

  push(text: string): ToolCallDelta | undefined {
    const at = this.#written.length
    this.#earlier = this.#earlier.filter((call) => call.startsWith(text, at))
    this.#written += text
    this.#held += text
    if (this.repeats) return undefined
    const held = this.#held
    this.#held = ''
    return this.#reader.push(held)
  }
}
