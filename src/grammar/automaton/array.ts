import { getOrMake } from '../../platform/index.js'
import type { ArrayShape, ArrayStep } from '../values/value.js'
import { type Bytes, type Cell, type Cells, Frame } from './frame.js'
import type { Frames } from './frames.js'

const NEWLINE = 0x0a
const COMMA = 0x2c
const CLOSE = 0x5d

/** The places between the items of one kind of array. */
export class ArrayFrames {
  readonly shape: ArrayShape
  readonly program: Frames
  readonly #frames = new Map<number, ArrayFrame>()

  constructor(shape: ArrayShape, program: Frames) {
    this.shape = shape
    this.program = program
  }

  /** After so many items, with such a tally of them. */
  at(index: number, tally: number): ArrayFrame {
    const i = this.shape.clamp(index)
    const n = this.shape.clampTally(tally)
    const key = i * 2 ** 31 + n
    return getOrMake(this.#frames, key, () => new ArrayFrame(this, i, n))
  }
}

export class ArrayFrame extends Frame {
  readonly home: ArrayFrames
  readonly index: number
  readonly #tally: number
  #ways: readonly ArrayStep[] | undefined

  constructor(home: ArrayFrames, index: number, tally: number, traits = 0) {
    super(traits)
    this.home = home
    this.index = index
    this.#tally = tally
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const { breaks } = this.home.program
    if (byte === this.#closer) {
      if (!this.#canStop) return
      const rest = byte === CLOSE ? undefined : breaks.afterCloser?.array
      out.add(rest === undefined ? below : below.push(rest))
    } else if (this.index > 0) {
      if (byte === COMMA) this.#addItems(breaks.afterComma, below, out)
    } else if (breaks.open === '') {
      for (const step of this.steps()) this.item(step).step(byte, below.push(breaks.spaced(this.behind(step))), out)
    } else if (byte === NEWLINE) this.#addItems(breaks.afterOpen, below, out)
  }

  #addItems(between: Frame | undefined, below: Cell, out: Cells): void {
    for (const step of this.steps()) {
      const cell = this.enter(step, below)
      out.add(between === undefined ? cell : cell.push(between))
    }
  }

  /** Before an item. */
  protected enter(step: ArrayStep, below: Cell): Cell {
    const { breaks } = this.home.program
    return below.push(breaks.spaced(this.behind(step))).push(breaks.spaced(this.item(step)))
  }

  protected item(step: ArrayStep): Frame {
    const { shape, program } = this.home
    return program.inside.value(shape.value(this.index, step))
  }

  /** The byte that ends the array here: without items its bracket stands on the same line. */
  get #closer(): number {
    return this.index === 0 ? CLOSE : (this.home.program.breaks.closer ?? CLOSE)
  }

  get #canStop(): boolean {
    return this.home.shape.canStop(this.index, this.#tally)
  }

  protected steps(): readonly ArrayStep[] {
    this.#ways ??= this.home.shape.steps(this.index, this.#tally)
    return this.#ways
  }

  protected behind(step: ArrayStep): Frame {
    return this.home.at(this.index + 1, this.home.shape.tally(this.#tally, step))
  }

  override next(below: Cell, into: Set<number>): boolean {
    if (this.#canStop) into.add(this.#closer)
    const steps = this.steps()
    if (this.index > 0 || this.home.program.breaks.open !== '') {
      if (steps.length > 0) into.add(this.index > 0 ? COMMA : NEWLINE)
      return true
    }
    return steps.every((step) => this.item(step).next(below, into))
  }

  override get length(): number {
    const { shape, program } = this.home
    return program.length(shape.rest(this.index, this.#tally))
  }

  override spell(): Bytes {
    const { shape, program } = this.home
    const { breaks } = program
    let bytes = ''
    let index = this.index
    let tally = this.#tally
    for (let step = shape.best(index, tally); step !== undefined; step = shape.best(index, tally)) {
      bytes += (index > 0 ? breaks.between : breaks.open) + program.inside.value(shape.value(index, step)).spell()
      index++
      tally = shape.tally(tally, step)
    }
    return `${bytes}${index > 0 ? breaks.close : ''}]`
  }
}
