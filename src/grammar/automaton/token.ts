import { type Bytes, type Cell, type Cells, Frame, LOOSE } from './frame.js'

/** Symbols from here on are not bytes but tokens that stand for no text. */
export const FIRST_TOKEN = 0x100

/** Before a token that stands for no text: the one named by this symbol. */
export class TokenFrame extends Frame {
  readonly #symbol: number

  constructor(symbol: number) {
    super()
    this.#symbol = symbol
  }

  override step(symbol: number, below: Cell, out: Cells): void {
    if (symbol === this.#symbol) out.add(below)
  }

  /** No byte, and yet something: nothing else is certain to come. */
  override next(): boolean {
    return false
  }

  override get length(): number {
    return 1
  }

  /** Whatever it is written with counts as one token. */
  override spell(): Bytes {
    return String.fromCharCode(LOOSE)
  }
}
