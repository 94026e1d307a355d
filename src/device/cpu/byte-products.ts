/**
 * How matrices of bytes are multiplied, of several kernels that come to the same bits. Bytes are multiplied by fours, which
 * is one instruction of machines that also multiply whole bytes right (`multipliesWholeBytes`). All others make fours of
 * pairs that they add in 16 bits: there kernels are quicker that add up several pairs before they widen them. So the values
 * tell which to take. A clock would, too, but not on a busy machine: it was wrong there in most processes.
 */
import { Q4, type WeightKind } from './abi.js'
import { EXACT_BLOCKS, FIRST_BLOCK_KIND, isOfBytes, PAIRS, WHOLE, WIDE_BLOCKS } from './block-kinds.js'
import type { MultipliedAs } from './matrix.js'
import type { KernelVariant } from './wasm.js'

/** By fours, by pairs, or, if codes have 8 bits, in 16 bits or whole. */
export const BYTE_PRODUCTS = ['bytes', 'pairs', 'wide', 'whole'] as const
export type ByteProducts = (typeof BYTE_PRODUCTS)[number]

/** Whether a kind of matrix is multiplied as bytes. */
const isMultipliedAsBytes = (kind: WeightKind) => kind === Q4 || (kind >= FIRST_BLOCK_KIND && kind < EXACT_BLOCKS)

export interface ByteMachine {
  readonly variant: KernelVariant
  /** See `multipliesWholeBytes`. */
  readonly wholeBytes: boolean
  /** The way for all, where it is one; else fours. */
  readonly byteProducts?: ByteProducts
}

/** The kernels for a kind of matrix. */
export function multipliedOn({ variant, wholeBytes, byteProducts }: ByteMachine, kind: WeightKind): MultipliedAs {
  // Plain SIMD has no product of bytes.
  if (variant === 'simd' || !isMultipliedAsBytes(kind)) return { few: kind, many: kind }
  const eight = isOfBytes(kind)
  // Codes of 8 bits in halves are twice as many products: of several rows, 16 bits take fewer than pairs of halves.
  const usual: Record<keyof MultipliedAs, ByteProducts> = wholeBytes
    ? { few: eight ? 'whole' : 'bytes', many: eight ? 'whole' : 'bytes' }
    : { few: 'pairs', many: eight ? 'wide' : 'pairs' }
  const as = (length: keyof MultipliedAs) => {
    // Nothing is added for fours, also where there is no kernel of the way.
    const added: Record<ByteProducts, number> = {
      bytes: 0,
      pairs: eight && length === 'many' ? 0 : PAIRS,
      wide: eight ? WIDE_BLOCKS : 0,
      whole: eight && wholeBytes ? WHOLE : 0,
    }
    return kind + added[byteProducts ?? usual[length]]
  }
  return { few: as('few'), many: as('many') }
}
