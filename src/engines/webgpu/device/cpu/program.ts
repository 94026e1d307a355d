/** A program for the kernels: operations in order, each a code, how its items are shared out, and its arguments. */

/** Operations, and the order of their arguments: `assembly/operations.ts` and `assembly/matmul.ts` read them. */
export const EMBED = 0
export const NORM = 1
export const PREPARE = 2
export const MATMUL = 3
export const PLACE = 4
export const ATTEND = 5
export const ACTIVATE = 6
export const COPY = 7

/** Kinds of matrices, as `assembly/layout.ts` numbers them. */
export const F32 = 0
export const F16 = 1
export const Q4 = 2
export const BF16 = 3
export const Q4_EXACT = 4
export type Kind = typeof F32 | typeof F16 | typeof Q4 | typeof BF16 | typeof Q4_EXACT

/** Rows of a matrix that are stored and multiplied together. */
export const GROUP = 8
export const Q4_BLOCK_BYTES = 160

const OPERATION_WORDS = 24
const HEADER_WORDS = 4
/** Shares per thread: enough that a thread which is held up leaves its work to the others. */
const SHARES = 4

export class Program {
  count = 0
  #words = new Int32Array(OPERATION_WORDS * 64)
  #floats = new Float32Array(this.#words.buffer)
  #next = 0
  readonly #threads: number

  constructor(threads: number) {
    this.#threads = threads
  }

  get bytes(): number {
    return this.count * OPERATION_WORDS * 4
  }

  /** Begins an operation; its arguments follow by `word` and `float`. `least`: items that are not worth splitting. */
  add(code: number, items: number, least = 1): this {
    const start = this.count * OPERATION_WORDS
    if (start + OPERATION_WORDS > this.#words.length) this.#widen()
    this.#words[start] = code
    this.#words[start + 1] = 0
    this.#words[start + 2] = Math.max(least, Math.ceil(items / (this.#threads * SHARES)))
    this.#words[start + 3] = items
    this.#next = start + HEADER_WORDS
    this.count++
    return this
  }

  word(value: number): this {
    this.#words[this.#next++] = value
    return this
  }

  float(value: number): this {
    this.#floats[this.#next++] = value
    return this
  }

  /** Sets argument `index` of the last operation. */
  amend(index: number, value: number): void {
    this.#words[(this.count - 1) * OPERATION_WORDS + HEADER_WORDS + index] = value
  }

  #widen(): void {
    const words = new Int32Array(this.#words.length * 2)
    words.set(this.#words)
    this.#words = words
    this.#floats = new Float32Array(words.buffer)
  }

  /** Writes it to `at`; an operation's place is `at + index * OPERATION_BYTES`. */
  write(memory: Int32Array, at: number): void {
    memory.set(this.#words.subarray(0, this.count * OPERATION_WORDS), at >>> 2)
  }

  clear(): void {
    this.count = 0
  }
}

export const OPERATION_BYTES = OPERATION_WORDS * 4
