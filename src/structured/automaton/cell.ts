import type { Frame } from './frame.js'

let made = 0

/** A stack of frames, shared: two equal stacks are one object, so that states can be compared by identity. */
export class Cell {
  /** Absent at the bottom, where the document is complete. */
  readonly frame: Frame | undefined
  readonly below: Cell | undefined
  readonly id = ++made
  /** Bytes of the shortest way to the end of the document. */
  readonly length: number
  /** Whether `length` is a bound, for want of a key's text. */
  readonly guessed: boolean
  /** Made when first needed: most cells are the top of a stack that is seen once. */
  #above: Map<Frame, Cell> | undefined

  constructor(frame?: Frame, below?: Cell) {
    this.frame = frame
    this.below = below
    this.guessed = frame?.guessed === true || below?.guessed === true
    this.length = (frame?.length ?? 0) + (below?.length ?? 0)
  }

  push(frame: Frame): Cell {
    this.#above ??= new Map()
    let cell = this.#above.get(frame)
    if (cell === undefined) {
      cell = new Cell(frame, this)
      this.#above.set(frame, cell)
    }
    return cell
  }

  get accepting(): boolean {
    return this.frame === undefined || (this.frame.ends && this.below!.frame === undefined)
  }

  /** Forgets what was built upon it; what is still in use elsewhere stays valid. */
  clear(): void {
    this.#above = undefined
  }
}

/** Collects the cells of the next state. */
export class Cells {
  readonly list: Cell[] = []

  add(cell: Cell): void {
    if (!this.list.includes(cell)) this.list.push(cell)
  }
}
