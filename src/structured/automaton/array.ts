import type { ArrayShape, ArrayStep } from '../schema/array-shape.js'
import type { Cell, Cells } from './cell.js'
import { type Bytes, Frame } from './frame.js'
import type { Program } from './program.js'

const COMMA = 0x2c
const CLOSE = 0x5d
const STEPS: readonly ArrayStep[] = ['plain', 'counted']

/** The places between the items of one kind of array. */
export class ArrayFrames {
  readonly shape: ArrayShape
  readonly program: Program
  readonly #frames = new Map<number, ArrayFrame>()

  constructor(shape: ArrayShape, program: Program) {
    this.shape = shape
    this.program = program
  }

  /** After so many items, so many of them counted as contained. */
  at(index: number, contained: number): ArrayFrame {
    const i = this.shape.clamp(index)
    const n = this.shape.clampContained(contained)
    const key = i * 2 ** 24 + n
    let frame = this.#frames.get(key)
    if (frame === undefined) {
      frame = new ArrayFrame(this, i, n)
      this.#frames.set(key, frame)
    }
    return frame
  }
}

class ArrayFrame extends Frame {
  readonly #home: ArrayFrames
  readonly #index: number
  readonly #contained: number

  constructor(home: ArrayFrames, index: number, contained: number) {
    super()
    this.#home = home
    this.#index = index
    this.#contained = contained
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const { shape, program } = this.#home
    if (byte === CLOSE) {
      if (shape.canStop(this.#index, this.#contained)) out.add(below)
    } else if (this.#index === 0) {
      for (const step of this.#steps())
        program.value(shape.value(0, step)).step(byte, below.push(this.#then(step)), out)
    } else if (byte === COMMA) {
      for (const step of this.#steps()) {
        const cell = below.push(this.#then(step)).push(program.value(shape.value(this.#index, step)))
        out.add(program.afterComma === undefined ? cell : cell.push(program.afterComma))
      }
    }
  }

  #steps(): ArrayStep[] {
    return STEPS.filter((step) => this.#home.shape.costOf(step, this.#index, this.#contained) !== Infinity)
  }

  #then(step: ArrayStep): ArrayFrame {
    return this.#home.at(this.#index + 1, this.#contained + (step === 'counted' ? 1 : 0))
  }

  override next(below: Cell, into: Set<number>): boolean {
    const { shape, program } = this.#home
    if (shape.canStop(this.#index, this.#contained)) into.add(CLOSE)
    if (this.#index > 0) {
      if (this.#steps().length > 0) into.add(COMMA)
      return true
    }
    return this.#steps().every((step) => program.value(shape.value(0, step)).next(below, into))
  }

  override get length(): number {
    return this.#home.shape.rest(this.#index, this.#contained)
  }

  override spell(): Bytes {
    const { shape, program } = this.#home
    let bytes = ''
    let index = this.#index
    let contained = this.#contained
    for (let step = shape.best(index, contained); step !== 'stop'; step = shape.best(index, contained)) {
      bytes += (index > 0 ? program.layout.comma : '') + program.value(shape.value(index, step)).spell()
      index++
      if (step === 'counted') contained++
    }
    return `${bytes}]`
  }
}
