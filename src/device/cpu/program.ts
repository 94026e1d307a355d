/** A program for the kernels: operations in order, each a code, how its items are shared out, and its arguments. */
import { type Arguments, type FunctionName, OPERATION_WORDS, PRIVATE, SMALL } from './abi.js'
import { WRITERS } from './kernels.generated.js'

/** Chunks of a thread's slice: enough that others can help one that is held up. */
const CHUNKS = 4
/** Threads have slices of whole units only where that makes them at most so much longer. */
const UNITS_PER_THREAD = 8

/** How an operation's items are handed out. */
export interface Sharing {
  /** Items that are not worth splitting. @default 1 */
  readonly least?: number | undefined
  /** Slices begin at multiples of it, so that no two threads write to the same line of memory. @default 1 */
  readonly unit?: number | undefined
  /**
   * `one`: one thread does it all, because it is so little that telling others would take longer. `each`: every thread
   * does it all for itself before the next operation, its results lying where only that thread looks.
   * @default 'all'
   */
  readonly by?: 'all' | 'one' | 'each'
}

/** So many values are read, worked on and written before another thread would have heard of them. */
const FEW = 4096
/** One thread does it all if there are few values. */
export const shareOf = (values: number): 'one' | 'all' => (values <= FEW ? 'one' : 'all')

export class PassProgram {
  count = 0
  #words = new Int32Array(OPERATION_WORDS * 64)
  #floats = new Float32Array(this.#words.buffer)
  readonly #threads: number

  constructor(threads: number) {
    this.#threads = threads
  }

  get bytes(): number {
    return this.count * OPERATION_WORDS * 4
  }

  add<N extends FunctionName>(
    name: N,
    items: number,
    args: Arguments<N>,
    { least = 1, unit = 1, by = 'all' }: Sharing = {},
  ): void {
    const start = this.count * OPERATION_WORDS
    if (start + OPERATION_WORDS > this.#words.length) this.#widen()
    const whole = items >= this.#threads * unit * UNITS_PER_THREAD ? unit : 1
    this.#words[start + 1] = by === 'all' ? whole : by === 'one' ? SMALL : PRIVATE
    this.#words[start + 2] = Math.max(least, Math.ceil(items / (this.#threads * CHUNKS * whole)) * whole)
    this.#words[start + 3] = items
    WRITERS[name](this.#words, this.#floats, start, args)
    this.count++
  }

  /** Writes the arguments of the last operation anew. */
  amend<N extends FunctionName>(name: N, args: Arguments<N>): void {
    WRITERS[name](this.#words, this.#floats, (this.count - 1) * OPERATION_WORDS, args)
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
}

export const OPERATION_BYTES = OPERATION_WORDS * 4

/** As many of `count` operations at `at` as do not part what each thread does for itself from what it does it for. */
export function wholeOperations(memory: Int32Array, at: number, count: number): number {
  const isPrivate = (index: number) => memory[(at >>> 2) + index * OPERATION_WORDS + 1] === PRIVATE
  while (count > 1 && isPrivate(count - 1)) count--
  return count
}
