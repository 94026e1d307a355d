import type { Value } from '../values/value.js'
import { type Bytes, type Cell, type Cells, Frame } from './frame.js'
import type { Frames, WeighedFrame } from './frames.js'
import { NUMBER_BYTES } from './number.js'

const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const OPEN_OBJECT = 0x7b

/** Before a value. */
export class ValueFrame extends Frame {
  readonly #value: Value
  readonly #program: Frames

  constructor(value: Value, program: Frames) {
    super()
    this.#value = value
    this.#program = program
  }

  get #literal(): WeighedFrame | undefined {
    return this.#program.literal(this.#value)
  }

  get #graph(): WeighedFrame | undefined {
    const { graph } = this.#value
    return graph && this.#program.graph(graph)
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const program = this.#program
    const { breaks } = program
    const { numbers, strings, arrays, objects } = this.#value
    this.#literal?.step(byte, below, out)
    if (byte === QUOTE) {
      for (const text of strings) out.add(below.push(program.text(text).at(text.start)))
    } else if (byte === OPEN_ARRAY) {
      for (const shape of arrays) {
        if (shape.rest(0, 0) === Infinity) continue
        out.add(below.push(breaks.spaced(program.array(shape).at(0, 0))))
      }
    } else if (byte === OPEN_OBJECT) {
      for (const shape of objects) {
        const open = program.object(shape)
        if (open !== undefined) out.add(below.push(breaks.spaced(open)))
      }
      const open = this.#graph
      if (open !== undefined) out.add(below.push(breaks.spaced(open)))
    } else {
      for (const number of numbers) program.number(number).step(byte, below, out)
    }
  }

  override next(below: Cell, into: Set<number>): boolean {
    const { numbers, strings, arrays, objects } = this.#value
    this.#literal?.next(below, into)
    if (strings.length > 0) into.add(QUOTE)
    if (arrays.some((shape) => shape.rest(0, 0) !== Infinity)) into.add(OPEN_ARRAY)
    if (this.#graph !== undefined || objects.some((shape) => this.#program.object(shape) !== undefined))
      into.add(OPEN_OBJECT)
    for (const number of numbers) {
      for (const byte of NUMBER_BYTES) if (number.next(number.start, byte) !== 0) into.add(byte)
    }
    return true
  }

  /** See `Layout`. */
  get weight(): number {
    return this.#value.length
  }

  override get length(): number {
    return this.#program.length(this.#value.length)
  }

  /** The first of the shortest, in a fixed order of kinds. */
  override spell(): Bytes {
    const { length, numbers, strings, arrays, objects } = this.#value
    const literal = this.#literal
    if (literal?.weight === length) return literal.spell()
    for (const number of numbers)
      if (number.distance(number.start) === length) return this.#program.number(number).spell()
    for (const text of strings) {
      const frame = this.#program.text(text).at(text.start)
      if (frame.length + 1 === length) return `"${frame.spell()}`
    }
    for (const shape of arrays)
      if (shape.rest(0, 0) + 1 === length) return `[${this.#program.array(shape).at(0, 0).spell()}`
    for (const shape of objects) {
      const open = this.#program.object(shape)
      if (open !== undefined && open.weight + 1 === length) return `{${open.spell()}`
    }
    const graph = this.#graph
    if (graph !== undefined && graph.weight + 1 === length) return `{${graph.spell()}`
    throw new Error('a value without a shortest text')
  }
}
