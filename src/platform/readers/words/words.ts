/** What one language says of time and number, as `plain` writes it: lower case, without accents. */
export interface LanguageWords {
  /** January first; each with its short forms. */
  readonly months: readonly (readonly string[])[]
  /** Monday first. */
  readonly weekdays: readonly (readonly string[])[]
  /** Behind the number of a day: `4th`, `1er`. */
  readonly ordinals: readonly string[]
  /** Between day, month and year. */
  readonly of: readonly string[]
  /** Days from today. */
  readonly days: Readonly<Record<string, number>>
  /** With `W` for a weekday: the first of its name after today. */
  readonly coming: readonly string[]
  /** The next one: some mean the coming one, some that of next week. */
  readonly next: readonly string[]
  readonly last: readonly string[]
  readonly now: readonly string[]
  /** With `Q` for so much time. */
  readonly ahead: readonly string[]
  readonly ago: readonly string[]
  readonly units: Readonly<Record<TimeUnit, readonly string[]>>
  /** Into how many parts, below zero if it means other things too: `two thirds`, `an hour and a half`. */
  readonly parts: Readonly<Record<string, number>>
  /** Between a part and the whole: `a quarter of an hour`. */
  readonly partOf: readonly string[]
  readonly clock: {
    /** Behind an hour, before its minutes. */
    readonly hour: readonly string[]
    /** Before an hour and its minutes. */
    readonly before?: readonly string[]
    readonly am: readonly string[]
    readonly pm: readonly string[]
    /** From evening to morning: twelve is midnight. */
    readonly night: readonly string[]
    /** Before so many hours, which are then no time of day. */
    readonly lasting: readonly string[]
    /** `HH:MM` of names. */
    readonly names: Readonly<Record<string, string>>
    /** With `H` for an hour of twelve: minutes from it. */
    readonly spoken: Readonly<Record<string, number>>
    /** With `M` for minutes, or `F` for fives of them in words: behind the hour `H`, or -1 before it. */
    readonly counted: Readonly<Record<string, 1 | -1>>
  }
  /** What makes what stands beside it a part of another. */
  readonly beside: {
    /** Between two, of which one is read: `9 to 11`. */
    readonly to: readonly string[]
    /** Between a length and what it is told from: `a week after`. */
    readonly away: readonly string[]
    /** Behind both. */
    readonly the: readonly string[]
    readonly less: readonly string[]
    /** Beginnings of words that leave days out: `3 business days`. */
    readonly working: readonly string[]
    /** The same of words behind hours that are no time of day: `8 heures par jour`. */
    readonly long: readonly string[]
    /** No units, and told from a day as they are. */
    readonly days?: readonly string[]
  }
  /** `a`: one, where a unit follows. */
  readonly articles: readonly string[]
  /** Up to a hundred and beyond, as they are put together. */
  readonly numbers: Readonly<Record<string, number>>
  /** Before a number below zero. */
  readonly minus: readonly string[]
  /** What multiplies the number before it. */
  readonly scales: Readonly<Record<string, number>>
  /** Of them, those that say one without a number before them: `mille`. */
  readonly bare: readonly string[]
  /** Between the parts of a number. */
  readonly and: readonly string[]
  /** Of its words, those that are others elsewhere: `once`. Alone they are read where the language is known. */
  readonly alike?: readonly string[]
  /** What number words lose before a vowel: `ventotto`. */
  readonly elided?: Readonly<Record<string, string>>
  /** Ten to nineteen stand behind sixty and eighty: `soixante-dix`. */
  readonly overSixty?: true
  /** Units stand before tens: `fünfundzwanzig`. */
  readonly unitsFirst?: true
  /** What separates whole from part where a number has one mark and three digits behind it; absent: it depends. */
  readonly decimalMark?: '.' | ','
}

export type TimeUnit = 'seconds' | 'minutes' | 'hours' | 'days' | 'weeks' | 'months' | 'years'
