import { expect } from 'vitest'

/** As `toEqual`, which takes longer for the tokens of a real vocabulary than trying each of them does. */
export function expectTokens(found: readonly number[], wanted: readonly number[], message?: string): void {
  const same = found.length === wanted.length && found.every((token, i) => token === wanted[i])
  if (!same) expect(found, message).toEqual(wanted)
}
