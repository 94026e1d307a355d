/** Exact divisibility of decimals: 0.3 is a multiple of 0.1, though not in binary arithmetic. */
export function isMultiple(value: number, step: number): boolean {
  const a = decimal(value)
  const b = decimal(step)
  const scale = Math.max(a.scale, b.scale)
  return (a.digits * 10n ** BigInt(scale - a.scale)) % (b.digits * 10n ** BigInt(scale - b.scale)) === 0n
}

/** The number as it prints: `digits / 10 ** scale`. */
function decimal(value: number): { digits: bigint; scale: number } {
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 }
}
