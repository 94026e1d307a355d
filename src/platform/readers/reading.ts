import type { LanguageName } from './words/index.js'

/** What a text says; where it does not say one thing, `value` is null and `guess` what is likeliest. */
export interface ValueReading<T = string | number> {
  readonly value: T | null
  readonly guess?: T
}

/** What is known beside the words themselves. */
export interface ReaderContext {
  /** `YYYY-MM-DD`: what "tomorrow" and dates without a year are told from. Nothing is told from the clock. */
  readonly reference?: string
  /** Of the text; it settles what no language does alone: `1.250` in Spanish, `03/04/2026` in English. */
  readonly locale?: string
  /** Of the text, where it is known; absent: by the locale, else every language is asked. */
  readonly language?: LanguageName
  /** Around what is read: how other numbers and dates are written there settles how this one is. */
  readonly around?: string
  /** Right before it and behind it: a number's unit may stand there, or what it is a part of. */
  readonly beside?: { readonly before: string; readonly behind: string }
}

export const sure = <T>(value: T): ValueReading<T> => ({ value })
export const unsure = <T>(guess: T): ValueReading<T> => ({ value: null, guess })

/** Found where: so that the rest can be looked at. */
export interface FoundReading<T> {
  readonly reading: ValueReading<T>
  readonly start: number
  readonly end: number
}

/** With how much of a text it is read from: where languages differ, the one that reads most is right. */
export interface LanguageReading<T = string | number> {
  readonly reading: ValueReading<T>
  readonly read: number
}

/** Several readings of one text: one thing, or the first of them as a guess. */
export function agreedReading<T>(readings: readonly ValueReading<T>[]): ValueReading<T> | undefined {
  const [first] = readings
  if (first === undefined) return undefined
  const best = first.value ?? first.guess
  if (readings.every(({ value }) => value !== null && value === first.value)) return first
  return best === undefined ? { value: null } : unsure(best)
}
