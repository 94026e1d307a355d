/**
 * Of two kernels that come to the same, the one that this machine is quicker with. Codes of 8 bits are multiplied as bytes
 * cut in halves, which takes twice as many of relaxed SIMD's instructions, or in 16 bits, which takes more of plain SIMD's:
 * which is quicker hangs on what the processor makes of them, and nothing but a trial tells.
 */
import type { WeightKind } from './abi.js'
import { blockRoom, isOfBytes, nameOf, WIDE_BLOCKS } from './block-kinds.js'
import { activationBytes, activationsOf, storedBytes } from './matrix.js'
import type { DeviceMemory } from './memory.js'
import { PassProgram } from './program.js'
import type { Kernels, KernelVariant } from './wasm.js'

/** A matrix that stays in the first cache, with what it is multiplied with. */
const SHAPE = { rows: 32, columns: 512 }
/** Rows of activations from which on codes are unpacked for several of them. */
export const MANY = 4
/** Rows of a trial: of a step, and of a prompt. */
const ROWS = { few: 1, many: 16 }
/** Milliseconds for which each kernel runs at a time: more than clocks are coarse by, in pages that are not isolated too. */
const TURN = 0.25
/** Turns of each: the first are run while code is not yet compiled as well as it will be, and the quickest counts. */
const TURNS = 5
/** What is as quick stays as it is everywhere. */
const WORTH = 0.95

type Length = keyof typeof ROWS

/** How codes of 8 bits are multiplied where the machine multiplies bytes: with these, or in 16 bits. */
export type ByteProducts = 'bytes' | 'wide'

interface ProductTrialHost {
  readonly memory: DeviceMemory
  readonly kernels: Pick<Kernels, 'run'>
  readonly variant: KernelVariant
  /** Instead of a trial. */
  readonly byteProducts?: ByteProducts
}

export class ProductTrial {
  readonly #host: ProductTrialHost
  readonly #wide = new Map<WeightKind, Readonly<Record<Length, boolean>>>()

  constructor(host: ProductTrialHost) {
    this.#host = host
  }

  /** Tries the kernels for a kind of matrix, the first time that there is one: 5 ms. */
  meet(kind: WeightKind): void {
    // Plain SIMD has no product of bytes.
    if (this.#host.variant === 'simd' || !isOfBytes(kind) || this.#wide.has(kind)) return
    const { byteProducts } = this.#host
    const isWide = (length: Length) =>
      byteProducts === undefined ? this.#isWideQuicker(kind, length) : byteProducts === 'wide'
    this.#wide.set(kind, { few: isWide('few'), many: isWide('many') })
  }

  /** The kind as it is multiplied with so many rows of activations. The choice is one for as long as the device is open. */
  kindFor(kind: WeightKind, rows: number): WeightKind {
    return this.#wide.get(kind)?.[rows >= MANY ? 'many' : 'few'] ? kind + WIDE_BLOCKS : kind
  }

  /** What was chosen, in words: `q8_0, several rows` by `products of 16 bits`. */
  get choices(): Readonly<Record<string, string>> {
    const said = (wide: boolean) => (wide ? 'products of 16 bits' : 'products of bytes')
    return Object.fromEntries(
      [...this.#wide].flatMap(([kind, { few, many }]) => [
        [`${nameOf(kind)}, a row`, said(few)],
        [`${nameOf(kind)}, several rows`, said(many)],
      ]),
    )
  }

  #isWideQuicker(kind: WeightKind, length: Length): boolean {
    const { memory } = this.#host
    const taken: number[] = []
    const take = (bytes: number) => {
      const at = memory.allocate(bytes)
      // Infinities among scales would be no slower, but what is denormal is.
      memory.u8.fill(0, at, at + bytes)
      taken.push(at)
      return at
    }
    try {
      const [bytes, wide] = [kind, kind + WIDE_BLOCKS].map((each) => this.#prepared(each, ROWS[length], take)) as [
        () => void,
        () => void,
      ]
      const times = { bytes: Number.POSITIVE_INFINITY, wide: Number.POSITIVE_INFINITY }
      for (let turn = 0; turn < TURNS; turn++) {
        times.bytes = Math.min(times.bytes, timeOf(bytes))
        times.wide = Math.min(times.wide, timeOf(wide))
      }
      return times.wide < times.bytes * WORTH
    } finally {
      for (const at of taken) memory.free(at)
    }
  }

  /** A product that is ready to run. */
  #prepared(kind: WeightKind, tokens: number, take: (bytes: number) => number): () => void {
    const { memory, kernels, variant } = this.#host
    const { rows, columns } = SHAPE
    const xStride = activationBytes(activationsOf(kind), columns, variant)
    const program = new PassProgram(1)
    program.add('matmul', rows / 8, {
      kind,
      matrix: take(storedBytes({ format: nameOf(kind), rows, columns })),
      ...{ x: take(tokens * xStride), xStride, xGap: 0, y: take(tokens * rows * 4), yStride: rows * 4 },
      ...{ rows, columns, tokens, add: false, bias: 0 },
      ...{ unpacked: take(blockRoom(columns, tokens >= MANY)), unpackedGap: 0 },
    })
    const place = take(program.bytes)
    program.write(memory.i32, place)
    return () => kernels.run(place, 1)
  }
}

/** Milliseconds of a run. */
function timeOf(run: () => void): number {
  const start = performance.now()
  for (let runs = 1; ; runs++) {
    run()
    const took = performance.now() - start
    if (took >= TURN) return took / runs
  }
}
