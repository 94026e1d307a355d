/** Numbers without their sign, read character by character between two bounds. */

import type { Decimal } from './decimal.js'
import type { Multiples } from './multiples.js'
import {
  FEW_REMAINDERS,
  final,
  GREATEST_EXPONENT,
  LEADING_ZEROS,
  LEAST_EXPONENT,
  type NumberPlace,
  near,
  needsPower,
  order,
  power,
  powers,
  SIGNIFICANT,
  SIGNIFICANT_MULTIPLES,
  settled,
  WHOLE_DIGITS,
} from './place.js'

/** Before the first digit. */
const FIRST = { phase: 'whole', digits: 0, low: 0, high: 0, rest: 0 } as const

export class Magnitudes {
  readonly first: NumberPlace = { phase: 'start' }
  private readonly low: Decimal | undefined
  private readonly high: Decimal | undefined
  private readonly zero: boolean
  private readonly step: Multiples
  private readonly significant: number
  /**
   * With many remainders to tell apart, each digit would need them all anew. Where no bound needs to know how many have
   * come, they are not counted here: the text as a whole must be cut to `SIGNIFICANT_MULTIPLES` characters instead.
   */
  readonly counted: boolean
  /** From so many digits on before the point they are not told apart. */
  private readonly limit: number
  private readonly lowScales: boolean
  private readonly highScales: boolean
  private readonly exponents: boolean

  /** `high` absent: zero at most. */
  constructor(low: Decimal | undefined, high: Decimal | undefined, zero: boolean, step: Multiples) {
    this.low = low
    this.high = high
    this.zero = zero
    this.step = step
    this.significant = step.modulus === 1 && step.scale === 0 ? SIGNIFICANT : SIGNIFICANT_MULTIPLES
    this.lowScales = low !== undefined && needsPower(low)
    this.highScales = high !== undefined && needsPower(high)
    const [least, most] = this.powers()
    this.counted = step.moduli[0]! > FEW_REMAINDERS && (high === undefined || high.point > WHOLE_DIGITS)
    this.exponents = least <= most && !this.counted
    this.limit = this.counted ? Math.max(1, (low?.point ?? 0) + 1) : WHOLE_DIGITS
  }

  read(at: NumberPlace, symbol: string): NumberPlace | undefined {
    const digit = symbol >= '0' && symbol <= '9' ? symbol.charCodeAt(0) - 0x30 : -1
    switch (at.phase) {
      case 'start':
        if (digit === -1) return undefined
        return this.whole(FIRST, digit)
      case 'whole':
        if (digit !== -1) return at.digits === 0 ? undefined : this.whole(at, digit)
        if (symbol === '.')
          return this.step.integer && (at.digits !== 1 || !this.exponents) ? undefined : this.point(at)
        return symbol === 'e' && at.digits === 1 ? this.exponent(this.point(at)) : undefined
      case 'fraction':
        if (digit !== -1) return this.fraction(at, digit)
        return symbol === 'e' && !at.fresh ? this.exponent(at) : undefined
      case 'exponent':
        if (symbol === '+') return powers(Math.max(WHOLE_DIGITS, at.from), at.to)
        return symbol === '-' ? powers(Math.max(LEADING_ZEROS + 1, -at.to), -at.from) : undefined
      case 'power':
        return digit === -1 ? undefined : power(at, digit)
      case 'end':
        return undefined
    }
  }

  /** Whether a digit may lead elsewhere than the one before it. */
  differs(at: NumberPlace, digit: number): boolean {
    if (digit <= 1 || this.step.modulus > 1) return true
    if (at.phase === 'whole') {
      return near(this.low, at.low, at.digits, digit) || near(this.high, at.high, at.digits, digit)
    }
    if (at.phase !== 'fraction') return at.phase !== 'start' || this.differs(FIRST, digit)
    const { low, high } = this
    if (low !== undefined && near(low, at.low, low.point + at.digits, digit)) return true
    if (high !== undefined && near(high, at.high, high.point + at.digits, digit)) return true
    return (
      at.single &&
      ((this.lowScales && near(low, at.lowScaled, at.total, digit)) ||
        (this.highScales && near(high, at.highScaled, at.total, digit)))
    )
  }

  accepts(at: NumberPlace): boolean {
    switch (at.phase) {
      case 'whole': {
        const end = this.point(at)
        return end !== undefined && this.within(end)
      }
      case 'fraction':
        return !at.fresh && !this.step.integer && this.within(at)
      case 'end':
        return true
      case 'power':
        return at.read >= at.from && at.read <= at.to
      default:
        return false
    }
  }

  private within(at: NumberPlace & { phase: 'fraction' }): boolean {
    if (!this.divides(at.rest, at.digits)) return false
    if (!at.nonZero) return this.zero
    if (this.low !== undefined && final(this.low, at.low, this.low.point + at.digits) < 0) return false
    return this.high !== undefined && at.high <= 0
  }

  /** A number of its own for each place that is told apart. */
  key(at: NumberPlace): number {
    switch (at.phase) {
      case 'start':
        return 0
      case 'end':
        return 1
      case 'exponent':
        return 2 + 5 * ((at.from + 400) * 800 + at.to + 400)
      case 'power':
        return 3 + 5 * ((at.from * 400 + at.to) * 400 + at.read)
      case 'whole':
        return 4 + 5 * (((at.digits * 3 + at.low + 1) * 3 + at.high + 1) * this.step.modulus + at.rest)
      case 'fraction': {
        const orders = ((at.low * 3 + at.high) * 3 + at.lowScaled) * 3 + at.highScaled + 40
        const flags = (at.nonZero ? 1 : 0) + (at.single ? 2 : 0) + (at.fresh ? 4 : 0)
        const counts = (at.digits * 32 + at.left) * 32 + at.total
        return 5 * (((counts * 81 + orders) * 8 + flags) * this.step.modulus + at.rest) + 5
      }
    }
  }

  private whole(at: NumberPlace & { phase: 'whole' }, digit: number): NumberPlace | undefined {
    const { digits } = at
    if (digits === 0 && digit === 0) return { ...at, rest: 0 }
    const count = Math.min(digits + 1, this.limit + 1)
    if (!this.counted && (count > WHOLE_DIGITS || (count > this.significant && digit !== 0))) return undefined
    // A single digit may still be shrunk by an exponent.
    const most = this.exponents ? 1 : 0
    if (this.high === undefined || count > Math.max(most, this.high.point)) return undefined
    const low =
      this.low === undefined || count > Math.max(most, this.low.point) ? 1 : order(this.low, at.low, digits, digit)
    // Bounds that no whole number reaches matter to the first digit alone, which an exponent may follow.
    const far = count > 1 && this.high.point > WHOLE_DIGITS
    return {
      phase: 'whole',
      digits: Math.min(count, this.limit),
      low,
      high: far ? -1 : order(this.high, at.high, digits, digit),
      rest: (at.rest * 10 + digit) % this.step.moduli[0]!,
    }
  }

  /** The place after the whole part, its comparisons settled. */
  private point(at: NumberPlace & { phase: 'whole' }): (NumberPlace & { phase: 'fraction' }) | undefined {
    const { digits } = at
    const high = this.high === undefined ? (digits > 0 ? 1 : 0) : settled(this.high, digits, at.high)
    const single = digits === 1 && this.exponents
    if (high > 0 && !single) return undefined
    if (!single && !this.canDivide(at.rest, 0)) return undefined
    return this.shaped({
      phase: 'fraction',
      digits: 0,
      left: this.digitsAfter(digits),
      nonZero: digits > 0,
      low: this.low === undefined ? 1 : settled(this.low, digits, at.low),
      high,
      single,
      lowScaled: single && this.lowScales ? at.low : 1,
      highScaled: single && this.highScales ? at.high : 1,
      total: 1,
      rest: at.rest,
      fresh: true,
    })
  }

  private digitsAfter(whole: number): number {
    const left = this.counted ? this.significant : Math.max(0, this.significant - whole)
    return this.step.modulus > 1 ? Math.min(left, Math.max(2, this.step.scale)) : left
  }

  private fraction(at: NumberPlace & { phase: 'fraction' }, digit: number): NumberPlace | undefined {
    const { step, low, high } = this
    if (at.digits >= step.scale && step.modulus * step.scale !== 0 && digit !== 0) return undefined
    if (at.digits >= step.scale && step.scale === 0 && step.modulus !== 1 && digit !== 0) return undefined
    const nonZero = at.nonZero || digit !== 0
    if (at.nonZero ? at.left <= 0 : at.digits >= LEADING_ZEROS) return undefined
    const after = high === undefined ? (nonZero ? 1 : 0) : order(high, at.high, high.point + at.digits, digit)
    if (after > 0 && !at.single) return undefined
    const tracked = at.digits < step.scale
    const rest = tracked ? (at.rest * 10 + digit) % step.moduli[at.digits + 1]! : at.rest
    if (!at.single && !this.canDivide(rest, at.digits + 1)) return undefined
    return this.shaped({
      phase: 'fraction',
      digits: at.digits + 1,
      left: nonZero ? at.left - 1 : at.left,
      nonZero,
      single: at.single,
      low: low === undefined ? 1 : order(low, at.low, low.point + at.digits, digit),
      high: after,
      lowScaled: at.single && this.lowScales ? order(low!, at.lowScaled, at.total, digit) : 1,
      highScaled: at.single && this.highScales ? order(high!, at.highScaled, at.total, digit) : 1,
      total: at.total + 1,
      rest,
      fresh: false,
    })
  }

  /** Forgets what can make no difference any more, so that equal futures are one state. */
  private shaped(at: NumberPlace & { phase: 'fraction' }): NumberPlace & { phase: 'fraction' } {
    const { step } = this
    const open = at.low === 0 || at.high === 0 || !at.nonZero
    const scaled = at.single && ((this.lowScales && at.lowScaled === 0) || (this.highScales && at.highScaled === 0))
    const { left, nonZero, low, high, single, lowScaled, highScaled, rest, fresh } = at
    const digits = open ? at.digits : Math.min(at.digits, step.scale)
    const total = scaled ? at.total : 0
    // Spelled out: spreading takes five times as long, and there is one for each symbol of each place.
    return { phase: 'fraction', digits, left, nonZero, low, high, single, lowScaled, highScaled, total, rest, fresh }
  }

  private exponent(at: (NumberPlace & { phase: 'fraction' }) | undefined): NumberPlace | undefined {
    if (at === undefined || !at.single) return undefined
    let [from, to] = this.powers()
    if (this.low !== undefined && this.lowScales) {
      from = Math.max(from, this.low.point - (final(this.low, at.lowScaled, at.total) >= 0 ? 1 : 0))
    }
    if (this.highScales) to = Math.min(to, this.high!.point - (at.highScaled <= 0 ? 1 : 2))
    return from <= to ? { phase: 'exponent', from, to } : undefined
  }

  /** The exponents that some number within the bounds is written with, seen without its digits. */
  private powers(): [from: number, to: number] {
    const { step, low, high } = this
    if (high === undefined) return [1, 0]
    // Whatever has sixteen digits after the point is a whole multiple once it is shifted by 21 places.
    const shifted = 10n ** BigInt(WHOLE_DIGITS - SIGNIFICANT + 1 + step.scale) % BigInt(step.modulus) === 0n
    const small = !step.integer && step.modulus === 1 && step.scale === 0
    const from = Math.max(small ? LEAST_EXPONENT : WHOLE_DIGITS, low === undefined ? LEAST_EXPONENT : low.point - 1)
    const to = Math.min(shifted ? GREATEST_EXPONENT : -LEADING_ZEROS - 1, high.point - 1)
    return to >= WHOLE_DIGITS || from < -LEADING_ZEROS ? [from, to] : [1, 0]
  }

  /** Whether some digits after so many may still make a multiple. */
  private canDivide(rest: number, digits: number): boolean {
    const { modulus, scale } = this.step
    const unit = 10 ** Math.max(0, scale - digits)
    // Beyond that products are not exact, and remainders are few.
    if (unit > 1e11) return true
    const read = (rest * unit) % modulus
    return read === 0 || modulus - read < unit
  }

  private divides(rest: number, digits: number): boolean {
    return rest % this.step.moduli[Math.min(digits, this.step.scale)]! === 0
  }
}
