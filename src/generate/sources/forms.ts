/** How texts write the values of documents, as patterns: whatever a pattern finds reads to its value. */

/** No form of a string is looked for that is longer. */
const LONGEST_STRING = 200
/** Digits of a number's whole part. */
const MOST_DIGITS = 21

export const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** In other letters, or with other blanks between its words. */
export function formsOfString(value: string): RegExp | undefined {
  const words = value.trim().split(/\s+/)
  if (value.length > LONGEST_STRING) return undefined
  return new RegExp(inText(words.map(literally).join('\\s+')), 'giu')
}

/** With marks between its thousands or without, either mark before its decimals, and zeros behind them. */
export function formsOfNumber(value: number): RegExp | undefined {
  const plain = Math.abs(value).toString()
  const sign = value < 0 ? '[-\\u2212]' : '(?<![-\\u2212])'
  const [whole = '', decimals = ''] = plain.split('.')
  if (whole.length > MOST_DIGITS || plain.includes('e')) return new RegExp(alone(literally(value.toString())), 'gu')
  const grouped = thousands(whole)
  const written = ['', ',', '.', "['\\u2019]", '[ \\u00a0\\u2009\\u202f]'].flatMap((mark) => {
    if (mark !== '' && grouped.length === 1) return []
    // The mark before the decimals is not the one between thousands.
    const before = mark === ',' ? '\\.' : mark === '.' ? ',' : '[.,]'
    // Three digits behind one mark may be thousands: only where thousands are marked is it known that they are not.
    const zeros =
      decimals === '' && mark === '' ? `(?:${before}(?:0|00|0{4,}))?` : decimals === '' ? `(?:${before}0+)?` : ''
    const behind = decimals === '' ? zeros : `${before}${decimals}0*`
    return [`${grouped.join(mark)}${behind}`]
  })
  return new RegExp(alone(`${sign}(?:${written.join('|')})`), 'gu')
}

const thousands = (digits: string): string[] => {
  const first = digits.length % 3
  const rest = digits.slice(first).match(/\d{3}/g) ?? []
  return first === 0 ? rest : [digits.slice(0, first), ...rest]
}

/** Neither beginning nor ending within a word. */
export const inText = (pattern: string): string => `(?<![\\p{L}\\p{M}\\p{N}])(?:${pattern})(?![\\p{L}\\p{M}\\p{N}])`

/** Nor within a number. */
const alone = (pattern: string): string =>
  `(?<![\\p{L}\\p{M}\\p{N}])(?<!\\p{N}[.,'\\u2019])(?:${pattern})(?!\\p{M}|[\\p{L}\\p{M}]*\\p{N}|[.,'\\u2019]\\p{N})`
