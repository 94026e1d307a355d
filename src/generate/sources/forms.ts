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
  const written = ['', ',', '\\.', "['\\u2019٬]", '[ \\u00a0\\u2009\\u202f]'].flatMap((mark) => {
    if (mark !== '' && grouped.length === 1) return []
    // The mark before the decimals is not the one between thousands.
    const before = mark === ',' ? '[.٫]' : mark === '\\.' ? '[,٫]' : '[.,٫]'
    // Three digits behind one mark may be thousands: only where thousands are marked is it known that they are not.
    const zeros =
      decimals === '' && mark === ''
        ? `(?:${before}(?:${ZERO}|${ZERO}{2}|${ZERO}{4,}))?`
        : decimals === ''
          ? `(?:${before}${ZERO}+)?`
          : ''
    const behind = decimals === '' ? zeros : `${before}${spelled(decimals)}${ZERO}*`
    const parts = [grouped, ...(mark === ',' && whole.length > 5 ? [ofIndia(whole)] : [])]
    return parts.map((groups) => `${groups.map(spelled).join(mark)}${behind}`)
  })
  return new RegExp(alone(`${sign}(?:${written.join('|')})`), 'gu')
}

const thousands = (digits: string): string[] => {
  const first = digits.length % 3
  const rest = digits.slice(first).match(/\d{3}/g) ?? []
  return first === 0 ? rest : [digits.slice(0, first), ...rest]
}

/** `12,34,567` */
const ofIndia = (digits: string): string[] => digits.replace(/\d(?=(?:\d\d)+\d$)/g, '$&,').split(',')

/** Of scripts in use; behind each of them the other nine stand in a row. */
const ZEROS = [...'0٠۰०০੦૦୦௦౦೦൦๐໐༠၀០０']
const spelled = (digits: string): string =>
  digits.replace(
    /\d/g,
    (digit) => `[${ZEROS.map((zero) => String.fromCodePoint(zero.codePointAt(0)! + Number(digit))).join('')}]`,
  )
const ZERO = spelled('0')

/** Neither beginning nor ending within a word. */
export const inText = (pattern: string): string => `(?<![\\p{L}\\p{M}\\p{N}])(?:${pattern})(?![\\p{L}\\p{M}\\p{N}])`

/** Letters that go on, and no others that stand alone; marks of numbers. */
const LETTER = '(?![\\p{scx=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}])[\\p{L}\\p{M}]'
const MARK = "[.,'\\u2019٫٬]"
/** What no number stands behind, and none before: `3500` of `3500万` is another. */
export const BEFORE_NUMBER = `(?:${LETTER}|\\p{N}${MARK}?)`
export const BEHIND_NUMBER = `(?:\\p{M}|(?:${LETTER})*\\p{N}|${MARK}\\p{N}|\\s?[十百千万萬億亿兆천만억조])`

/** Nor within a number. */
const alone = (pattern: string): string => `(?<!${BEFORE_NUMBER})(?:${pattern})(?!${BEHIND_NUMBER})`
