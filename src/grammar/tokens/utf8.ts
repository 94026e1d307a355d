/** UTF-8 as an automaton over bytes: `UTF8[place << 8 | byte]`. Between two characters it stands at 0. */

export const MALFORMED = 8

/** Leading bytes, how many bytes must follow, and the limits of the first of those where they are not the usual ones. */
const LEADS = [
  { from: 0xc2, to: 0xdf, place: 1 },
  { from: 0xe1, to: 0xec, place: 2 },
  { from: 0xee, to: 0xef, place: 2 },
  { from: 0xf1, to: 0xf3, place: 3 },
  // Nothing overlong, no surrogates, nothing beyond 0x10ffff.
  { from: 0xe0, to: 0xe0, place: 4, low: 0xa0, left: 1 },
  { from: 0xed, to: 0xed, place: 5, high: 0x9f, left: 1 },
  { from: 0xf0, to: 0xf0, place: 6, low: 0x90, left: 2 },
  { from: 0xf4, to: 0xf4, place: 7, high: 0x8f, left: 2 },
] as const

export const UTF8 = table()

function table(): Uint8Array {
  const next = new Uint8Array((MALFORMED + 1) << 8).fill(MALFORMED)
  next.fill(0, 0, 0x80)
  for (const { from, to, place, ...special } of LEADS) {
    next.fill(place, from, to + 1)
    const { low = 0x80, high = 0xbf, left = place - 1 } = special as { low?: number; high?: number; left?: number }
    next.fill(left, (place << 8) | low, ((place << 8) | high) + 1)
  }
  return next
}

/** Where bytes end that begin between two characters; `MALFORMED` if they break the rules on the way. */
export function endOf(bytes: Uint8Array): number {
  let place = 0
  for (const byte of bytes) place = UTF8[(place << 8) | byte]!
  return place
}
