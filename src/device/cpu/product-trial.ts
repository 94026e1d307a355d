/**
 * Of kernels that come to the same, the one that this machine is quicker with. Bytes are multiplied by fours, which is one
 * instruction of some processors and five of others, or by pairs. Codes of 8 bits are multiplied whole where that comes to
 * the right value; else they are bytes cut in halves, or are multiplied in 16 bits. Which is quicker hangs on what the
 * processor makes of them, and nothing but a trial tells.
 */
import { getOrMake } from '../../platform/index.js'
import { Q4, type WeightKind } from './abi.js'
import {
  blockKind,
  blockTypeOf,
  EXACT_BLOCKS,
  FIRST_BLOCK_KIND,
  isOfBytes,
  PAIRS,
  WHOLE,
  WIDE_BLOCKS,
} from './block-kinds.js'
import type { MultipliedAs } from './matrix.js'
import { FIRST_SETTLED, SETTLED, TRIAL_ROWS, type TrialHost, timesOf, WORTH } from './turns.js'

type Length = keyof typeof TRIAL_ROWS

/** How bytes are multiplied where the machine does: by fours, by pairs, or, if codes have 8 bits, in 16 bits or whole. */
export const BYTE_PRODUCTS = ['bytes', 'pairs', 'wide', 'whole'] as const
export type ByteProducts = (typeof BYTE_PRODUCTS)[number]

const ADDED: Readonly<Record<ByteProducts, number>> = { bytes: 0, pairs: PAIRS, wide: WIDE_BLOCKS, whole: WHOLE }
const PRODUCT_NAMES: Readonly<Record<ByteProducts, string>> = {
  bytes: 'products of bytes',
  pairs: 'products of bytes, by pairs',
  wide: 'products of 16 bits',
  whole: 'products of whole bytes',
}

/** Whether a kind of matrix is multiplied as bytes. */
const isMultipliedAsBytes = (kind: WeightKind) => kind === Q4 || (kind >= FIRST_BLOCK_KIND && kind < EXACT_BLOCKS)

interface ProductTrialHost extends TrialHost {
  /** Instead of a trial. */
  readonly byteProducts?: ByteProducts
  /** See `multipliesWholeBytes`. */
  readonly wholeBytes: boolean
}

export class ProductTrial {
  readonly #host: ProductTrialHost
  readonly #bytes: Partial<Record<Length, ByteProducts>> = {}
  readonly #chosen = new Map<WeightKind, Readonly<Record<Length, ByteProducts>>>()

  constructor(host: ProductTrialHost) {
    this.#host = host
  }

  /**
   * Tries the kernels for a kind of matrix the first time that there is one: 50 ms for the first, 10 to 20 for each of
   * 8 bits. The choice is one for as long as the device is open.
   */
  meet(kind: WeightKind): MultipliedAs {
    // Plain SIMD has no product of bytes.
    if (this.#host.variant === 'simd' || !isMultipliedAsBytes(kind)) return { few: kind, many: kind }
    const { few, many } = getOrMake(this.#chosen, kind, () => {
      return { few: this.#choose(kind, 'few'), many: this.#choose(kind, 'many') }
    })
    return { few: kind + ADDED[few], many: kind + ADDED[many] }
  }

  /** What was chosen, in words: `q8_0, several rows` by `products of 16 bits`. */
  get choices(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#chosen].flatMap(([kind, { few, many }]) => [
        [`${formatOf(kind)}, a row`, PRODUCT_NAMES[few]],
        [`${formatOf(kind)}, several rows`, PRODUCT_NAMES[many]],
      ]),
    )
  }

  #choose(kind: WeightKind, length: Length): ByteProducts {
    const { byteProducts, wholeBytes } = this.#host
    const whole = isOfBytes(kind) && wholeBytes
    // Of several rows of 8 bits pairs take as many instructions as products in 16 bits, and need halves.
    const halves = isOfBytes(kind) && length === 'many'
    if (byteProducts !== undefined) {
      const has = byteProducts === 'whole' ? whole : byteProducts === 'wide' ? isOfBytes(kind) : !halves
      return has ? byteProducts : 'bytes'
    }
    // Half of the products, and nothing to unpack.
    if (whole) return 'whole'
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
    const products = [usual, other].map((way) => ({ kind: kind + ADDED[way] }))
    const [first, second] = timesOf(this.#host, TRIAL_ROWS[length], products, settled)
    return second! < first! * WORTH ? other : usual
  }
}

const formatOf = (kind: WeightKind) => (kind === Q4 ? 'q4' : blockTypeOf(kind))
