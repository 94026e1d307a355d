/** What `type: integer` and `multipleOf` ask of a number. */

import { TextError } from '../automata/types.js'
import { decimalOf } from './decimal.js'

export interface Multiples {
  /** No digits after the point. */
  readonly integer: boolean
  /** The value times ten to the power of `scale` is a multiple of this. */
  readonly modulus: number
  readonly scale: number
  /** For each number of digits read after the point the remainders that still tell values apart. */
  readonly moduli: readonly number[]
}

/** Remainders are states; beyond this there are too many of them. */
const MAX_MODULUS = 4096

export function multiplesOf(integer: boolean, multipleOf: number | undefined): Multiples {
  if (multipleOf === undefined) return plain(integer)
  const { digits, point } = decimalOf(multipleOf)
  let scale = Math.max(0, digits.length - point)
  let modulus = BigInt(digits) * 10n ** BigInt(Math.max(0, point - digits.length))
  if (scale === 0 && modulus === 1n) return plain(true)
  if (integer) {
    modulus /= gcd(modulus, 10n ** BigInt(scale))
    scale = 0
  }
  if (modulus > MAX_MODULUS) throw new TextError(`multipleOf ${multipleOf} needs more than ${MAX_MODULUS} remainders`)
  const moduli = Array.from({ length: scale + 1 }, (_, i) => Number(modulus / gcd(modulus, 10n ** BigInt(scale - i))))
  return { integer, modulus: Number(modulus), scale, moduli }
}

function plain(integer: boolean): Multiples {
  return { integer, modulus: 1, scale: 0, moduli: [1] }
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b)
}
