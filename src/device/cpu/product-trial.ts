/**
 * Of kernels that come to the same, the one that this machine is quicker with. Bytes are multiplied by fours, which is one
 * instruction of some processors and five of others, or by pairs. Codes of 8 bits are bytes cut in halves, or are multiplied
 * in 16 bits. Which is quicker hangs on what the processor makes of them, and nothing but a trial tells.
 */
import { Q4, type WeightKind } from './abi.js'
import { blockKind, blockTypeOf, EXACT_BLOCKS, FIRST_BLOCK_KIND, isOfBytes, PAIRS, WIDE_BLOCKS } from './block-kinds.js'
import { activationBytes, activationsOf, storedBytes, unpackingRoom } from './matrix.js'
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
/** Turns of each. The quickest counts. */
const TURNS = 5
/**
 * Milliseconds for which no turn was quicker before a trial ends: engines compile once more what has run for some
 * milliseconds, meanwhile, and until then every way is about as slow.
 */
const SETTLED = 8
/** Of the first kernels that are tried: nothing of the module is compiled well by then. */
const FIRST_SETTLED = 40
/** What is quicker by more than chance. */
const QUICKER = 0.9
/** What is as quick stays as it is everywhere. */
const WORTH = 0.95

type Length = keyof typeof ROWS

/** How bytes are multiplied where the machine does: by fours, by pairs, or, if codes have 8 bits, in 16 bits. */
export type ByteProducts = 'bytes' | 'pairs' | 'wide'

const ADDED: Readonly<Record<ByteProducts, number>> = { bytes: 0, pairs: PAIRS, wide: WIDE_BLOCKS }
const SAID: Readonly<Record<ByteProducts, string>> = {
  bytes: 'products of bytes',
  pairs: 'products of bytes, by pairs',
  wide: 'products of 16 bits',
}

/** Whether a kind of matrix is multiplied as bytes. */
const isMultipliedAsBytes = (kind: WeightKind) => kind === Q4 || (kind >= FIRST_BLOCK_KIND && kind < EXACT_BLOCKS)

interface ProductTrialHost {
  readonly memory: DeviceMemory
  readonly kernels: Pick<Kernels, 'run'>
  readonly variant: KernelVariant
  /** Instead of a trial. */
  readonly byteProducts?: ByteProducts
}

export class ProductTrial {
  readonly #host: ProductTrialHost
  readonly #bytes: Partial<Record<Length, ByteProducts>> = {}
  readonly #chosen = new Map<WeightKind, Readonly<Record<Length, ByteProducts>>>()

  constructor(host: ProductTrialHost) {
    this.#host = host
  }

  /** Tries the kernels for a kind of matrix the first time that there is one: 50 ms for the first, 10 to 20 for each of 8 bits. */
  meet(kind: WeightKind): void {
    // Plain SIMD has no product of bytes.
    if (this.#host.variant === 'simd' || !isMultipliedAsBytes(kind) || this.#chosen.has(kind)) return
    this.#chosen.set(kind, { few: this.#choose(kind, 'few'), many: this.#choose(kind, 'many') })
  }

  /** The kind as it is multiplied with so many rows of activations. The choice is one for as long as the device is open. */
  kindFor(kind: WeightKind, rows: number): WeightKind {
    const chosen = this.#chosen.get(kind)?.[rows >= MANY ? 'many' : 'few']
    return chosen === undefined ? kind : kind + ADDED[chosen]
  }

  /** What was chosen, in words: `q8_0, several rows` by `products of 16 bits`. */
  get choices(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#chosen].flatMap(([kind, { few, many }]) => [
        [`${formatOf(kind)}, a row`, SAID[few]],
        [`${formatOf(kind)}, several rows`, SAID[many]],
      ]),
    )
  }

  #choose(kind: WeightKind, length: Length): ByteProducts {
    const { byteProducts } = this.#host
    // Of several rows of 8 bits pairs take as many instructions as products in 16 bits, and need halves.
    const halves = isOfBytes(kind) && length === 'many'
    if (byteProducts !== undefined) {
      const has = byteProducts === 'wide' ? isOfBytes(kind) : !halves
      return has ? byteProducts : 'bytes'
    }
    const asBytes = halves ? 'bytes' : this.#bytesOf(length)
    return isOfBytes(kind) ? this.#quickest(kind, length, asBytes, 'wide', SETTLED) : asBytes
  }

  /** The way for bytes: the machine's, whatever the kind. */
  #bytesOf(length: Length): ByteProducts {
    const settled = Object.keys(this.#bytes).length === 0 ? FIRST_SETTLED : SETTLED
    this.#bytes[length] ??= this.#quickest(blockKind('q4_0'), length, 'bytes', 'pairs', settled)
    return this.#bytes[length]
  }

  /** `usual`, but where `other` is quicker by more than chance. */
  #quickest(kind: WeightKind, length: Length, usual: ByteProducts, other: ByteProducts, settled: number): ByteProducts {
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
      const [first, second] = [usual, other].map((way) => this.#prepared(kind + ADDED[way], ROWS[length], take)) as [
        () => void,
        () => void,
      ]
      const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      let since = performance.now()
      for (let turn = 0; turn < TURNS || performance.now() - since < settled; turn++) {
        for (const [i, run] of [first, second].entries()) {
          const time = timeOf(run)
          if (time < best[i]! * QUICKER) since = performance.now()
          best[i] = Math.min(best[i]!, time)
        }
      }
      return best[1]! < best[0]! * WORTH ? other : usual
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
      matrix: take(storedBytes({ format: blockTypeOf(kind), rows, columns })),
      ...{ x: take(tokens * xStride), xStride, xGap: 0, y: take(tokens * rows * 4), yStride: rows * 4 },
      ...{ rows, columns, tokens, add: false, bias: 0 },
      ...{ unpacked: take(unpackingRoom(kind, columns, tokens)), unpackedGap: 0 },
    })
    const place = take(program.bytes)
    program.write(memory.i32, place)
    return () => kernels.run(place, 1)
  }
}

const formatOf = (kind: WeightKind) => (kind === Q4 ? 'q4' : blockTypeOf(kind))

/** Milliseconds of a run. */
function timeOf(run: () => void): number {
  const start = performance.now()
  for (let runs = 1; ; runs++) {
    run()
    const took = performance.now() - start
    if (took >= TURN) return took / runs
  }
}
