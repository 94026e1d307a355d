/**
 * Texts that take tokenizers apart: words of every script that Unicode knows, code, natural texts, numbers, blanks,
 * emoji, and mixtures of all. Made from the platform's own Unicode tables and from the texts of this repository.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Random } from '../../test/oracles/random.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const SCRIPTS = (
  'Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada ' +
  'Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Khmer Mongolian Hiragana ' +
  'Katakana Bopomofo Han Yi Coptic Gothic Deseret Tifinagh Nko Vai Javanese Balinese Adlam'
).split(' ')

const BLANKS = [' ', '  ', '\t', '\n', '\n\n', '\r\n', ' \n', '   \n  ', '\u00a0', '\u3000', '\u2003', '      ']
const SIGNS = [...'.,;:!?…-–—_/\\|@#$%^&*+=<>~`\'"“”‘’«»()[]{}。，、！？؟।€£¥°§©™→≤∑√∞½²'].concat(
  '...',
  '!!!',
  '--',
  '==',
  '://',
)
const EMOJI = ['😀', '👍🏽', '👩‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '❤️', '1️⃣', '🦊', '🧑🏿‍🚀', '☎️', '⌚', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '𝒳', '🀄']
const ENDINGS = ["don't", "WE'LL", "I'M", "they've", "it'S", "you'd", "he'RE", "'s", "'tis", 'rock’n’roll', "O'Neil's"]

/** Characters of Unicode 16 and 17, which one side's tables may have and the other's not. */
const NEWEST =
  /[\u0cdc\u1c89\u1c8a\ua7cb-\ua7cd\ua7da-\ua7dc\u{105c0}-\u{105f3}\u{10ec2}-\u{10ec4}\u{10efc}\u{116d0}-\u{116e3}]/u

/** Characters of a script: letters, the marks that stand on them, its digits. */
function lettersOf(script: string): string[] {
  const pattern = new RegExp(`^[\\p{Script=${script}}&&[\\p{L}\\p{M}\\p{N}]]$`, 'v')
  const found: string[] = []
  for (let code = 0; code < 0x1f000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const letter = String.fromCodePoint(code)
    if (pattern.test(letter) && !NEWEST.test(letter)) found.push(letter)
  }
  return found
}

function linesBelow(folder: string, ending: RegExp): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
    ending.test(name),
  )
  return names.sort().flatMap((name) =>
    readFileSync(join(ROOT, folder, name), 'utf8')
      .split('\n')
      .filter(Boolean),
  )
}

/** `count` texts, always the same. */
export function corpus(count: number): string[] {
  const random = new Random('texts for tokenizers')
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)]!
  const scripts = SCRIPTS.map(lettersOf).filter((letters) => letters.length > 0)
  const code = linesBelow('src', /\.ts$/)
  const prose = [...linesBelow('models/nano/recipe/natural', /\.(txt|md)$/), ...linesBelow('docs', /\.md$/)]
  const word = (letters = pick(scripts)) => Array.from({ length: 1 + random.below(8) }, () => pick(letters)).join('')
  const digits = () => Array.from({ length: 1 + random.below(9) }, () => random.below(10)).join('')
  const cased = (text: string) =>
    pick([text, text.toUpperCase(), text.toLowerCase(), text.slice(0, 1).toUpperCase() + text.slice(1)])
  const words = () => {
    const letters = pick(scripts)
    return Array.from({ length: 1 + random.below(7) }, () => cased(word(letters))).join(
      pick([' ', ' ', ' ', '', ', ', '-']),
    )
  }
  const kinds: (() => string)[] = [
    words,
    () => pick(code),
    () => pick(prose),
    digits,
    () => pick(SIGNS),
    () => pick(BLANKS),
    () => pick(EMOJI),
    () => pick(ENDINGS),
    () => `${word()}${digits()}${pick(SIGNS)}${word()}`,
    () => `${pick(BLANKS)}${pick(BLANKS)}${word()}`,
  ]
  const texts = ['', ' ', '\n', 'a', ...EMOJI, ...BLANKS, ...SIGNS, ...ENDINGS]
  while (texts.length < count) {
    // A third is of one kind alone.
    const parts = random.below(3) === 0 ? 1 : 1 + random.below(5)
    const text = Array.from({ length: parts }, () => pick(kinds)()).join(pick(['', ' ', ' ', '\n']))
    texts.push([...text].slice(0, 400).join(''))
  }
  return texts.slice(0, count)
}
