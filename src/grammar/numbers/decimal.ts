/** Exact decimals: 0.DIGITS times ten to the power of `point`, signed. */

export interface Decimal {
  readonly sign: -1 | 0 | 1
  /** Without leading or trailing zeros; empty for zero. */
  readonly digits: string
  readonly point: number
}

export function decimalOf(value: number): Decimal {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value))
  if (match === null) throw new RangeError(`${value} is not a finite number`)
  const [, minus, whole = '', fraction = '', exponent = '0'] = match
  return trimmed(minus === '-' ? -1 : 1, whole + fraction, whole.length + Number(exponent))
}

export function trimmed(sign: -1 | 1, digits: string, point: number): Decimal {
  const leading = /^0*/.exec(digits)![0].length
  const kept = digits.slice(leading).replace(/0+$/, '')
  return kept === '' ? { sign: 0, digits: '', point: 0 } : { sign, digits: kept, point: point - leading }
}

export function negated(value: Decimal): Decimal {
  return { ...value, sign: (0 - value.sign) as -1 | 0 | 1 }
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign
  if (a.sign === 0) return 0
  return a.sign * compareMagnitudes(a, b)
}

function compareMagnitudes(a: Decimal, b: Decimal): number {
  if (a.point !== b.point) return a.point - b.point
  return a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0
}

/** The nearest integer that is not below (`up`) or not above (`!up`). */
export function rounded(value: Decimal, up: boolean): Decimal {
  if (value.sign === 0 || value.digits.length <= value.point) return value
  const whole = BigInt(value.digits.slice(0, Math.max(0, value.point)) || '0')
  const away = value.sign > 0 === up
  const magnitude = String(away ? whole + 1n : whole)
  return trimmed(value.sign as -1 | 1, magnitude, magnitude.length)
}

/** More digits than any number that is written here has. */
const PRECISION = 20

/**
 * The least decimal (of `PRECISION` digits) that is read as a double above `value`, or the greatest that is read as one
 * below: half way to the neighbouring double, so that 0.10000000000000001 does not pass for more than 0.1.
 */
export function beyond(value: number, above: boolean): Decimal {
  if (value === 0) return above ? TINY : negated(TINY)
  const away = value > 0 === above
  const { digits, point, roundsAway } = midpoint(Math.abs(value), away)
  const sign = value > 0 ? 1 : -1
  const head = digits.slice(0, PRECISION)
  const exact = !/[1-9]/.test(digits.slice(PRECISION))
  const unit = exact && roundsAway ? 0n : away ? 1n : exact ? -1n : 0n
  const text = String(BigInt(head) + unit)
  return trimmed(sign, text, point + text.length - head.length)
}

/** The smallest magnitude that is written at all: 1e-323. */
export const TINY: Decimal = { sign: 1, digits: '1', point: -322 }

/** Half way from a positive double to its neighbour, and whether what stands exactly there is read as the neighbour. */
function midpoint(value: number, up: boolean): { digits: string; point: number; roundsAway: boolean } {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const raw = bits.getBigUint64(0)
  const biased = Number(raw >> 52n)
  const fraction = raw & 0xfffffffffffffn
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n)
  const power = (biased === 0 ? 1 : biased) - 1075
  // Below a power of two the doubles lie twice as close.
  const close = !up && fraction === 0n && biased > 1
  const numerator = close ? 4n * mantissa - 1n : 2n * mantissa + (up ? 1n : -1n)
  const shift = power - (close ? 2 : 1)
  const whole = shift >= 0 ? numerator << BigInt(shift) : numerator * 5n ** BigInt(-shift)
  const digits = String(whole).padEnd(PRECISION, '0')
  // Ties go to the even mantissa.
  return { digits, point: String(whole).length + Math.min(0, shift), roundsAway: mantissa % 2n === 1n }
}
