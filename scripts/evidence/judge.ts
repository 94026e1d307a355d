/** Whether a stretch of a text says a value: by the letters alone, and by none of the patterns that sources are found by. */
import type { Leaf } from './cases.js'

const MONTHS: readonly RegExp[] = [
  ...[/^(jan|ene)/, /^(feb|fev)/, /^(mar|mrz|maer)/, /^(apr|avr|abr)/, /^(may|mai|mayo)/, /^(jun|juin)/],
  ...[/^(jul|juil)/, /^(aug|aou|ago)/, /^se[pt]/, /^(oct|okt)/, /^nov/, /^(dec|dez|dic)/],
]

/** Undefined: it does. */
export function whyNot(value: Leaf, text: string, start: number, end: number): string | undefined {
  const passage = text.slice(start, end)
  const isPlace = [start, end].every(Number.isInteger) && start >= 0 && start < end && end <= text.length
  if (!isPlace) return `${start} to ${end} is no place in a text of ${text.length}`
  if (typeof value === 'boolean' || value === null) return 'true, false and null have no source'
  for (const at of [start, end]) {
    if (isInPair(text, at)) return 'it begins or ends within a character'
    const [before, behind] = [
      text.slice(0, at).match(/.$/su)?.[0] ?? '',
      String.fromCodePoint(text.codePointAt(at) ?? 32),
    ]
    // A unit may stand behind a number.
    const isUnit = typeof value === 'number' && at === end && /\p{L}/u.test(behind)
    // Such scripts put no blanks between their words.
    const isUnspaced = [before, behind].some((each) => UNSPACED.test(each))
    if (isWordly(before) && isWordly(behind) && !isUnit && !isUnspaced)
      return `it begins or ends within a word: ${JSON.stringify(before + behind)}`
  }
  if (typeof value === 'number')
    return readings(passage).includes(value) ? undefined : `it reads ${readings(passage).join(' or ')}`
  if (folded(passage) === folded(value)) return undefined
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(value)
  if (day && saysDay(passage, Number(day[1]), Number(day[2]), Number(day[3]))) return undefined
  return 'it says something else'
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

const isWordly = (character: string): boolean => /[\p{L}\p{M}\p{N}]/u.test(character)

const isInPair = (text: string, at: number): boolean =>
  /[\ud800-\udbff]/.test(text[at - 1] ?? '') && /[\udc00-\udfff]/.test(text[at] ?? '')

const folded = (text: string): string => text.trim().replace(/\s+/g, ' ').toUpperCase().toLowerCase()

/** With either mark before the decimals. */
function readings(passage: string): number[] {
  if (!/^[-\u2212]?\d[\d.,'\u2019 \u00a0\u2009\u202f]*$/.test(passage)) return []
  const plain = passage.replace('\u2212', '-').replace(/['\u2019 \u00a0\u2009\u202f]/g, '')
  return [plain.replaceAll(',', ''), plain.replaceAll('.', '').replaceAll(',', '.')].map(Number)
}

function saysDay(passage: string, year: number, month: number, day: number): boolean {
  const plain = passage.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  const names = plain.match(/[a-z]+/g) ?? []
  const numbers = (plain.match(/\d+/g) ?? []).map(Number)
  const isYear = (number: number) => number === year || number === year % 100
  if (names.some((name) => MONTHS[month - 1]!.test(name))) {
    const others = [...numbers]
    const at = others.indexOf(day)
    if (at < 0) return false
    others.splice(at, 1)
    return others.length === 0 || (others.length === 1 && isYear(others[0]!))
  }
  const [a, b, c] = numbers
  if (numbers.length !== 3) return false
  return (
    (a === year && b === month && c === day) ||
    (a === day && b === month && isYear(c!)) ||
    (a === month && b === day && isYear(c!))
  )
}
