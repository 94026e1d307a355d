import { insideOfString } from './letters.js'

type Tell = (json: string) => void
/** What comes of reading letter by letter. */
type Reading<Result> = Generator<undefined, Result, string>

const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
])

/** One value in Python, or in JSON, whose first letter is given, told as JSON; returns the letter after it. */
export function* literal(first: string, tell: Tell): Reading<string> {
  let letter = first
  for (let depth = 0; ; ) {
    if (depth === 0 && (letter === ',' || letter === ')')) return letter
    if (letter === '"' || letter === "'") {
      yield* text(letter, tell)
      letter = yield
      continue
    }
    if (/[a-z]/i.test(letter)) {
      let word = ''
      for (; /[a-z]/i.test(letter); letter = yield) word += letter
      tell(WORDS.get(word) ?? word)
      continue
    }
    if (letter === '[' || letter === '{' || letter === '(') depth++
    else if (letter === ']' || letter === '}' || letter === ')') depth--
    tell(LISTS.get(letter) ?? letter)
    letter = yield
  }
}

/** A tuple is a list to JSON. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['(', '['],
  [')', ']'],
])

/** The rest of a text whose first quote was read. */
function* text(quote: string, tell: Tell): Reading<void> {
  tell('"')
  for (let letter = yield; letter !== quote; letter = yield) {
    tell(letter === '\\' ? yield* escapedBy(yield) : insideOfString(letter))
  }
  tell('"')
}

/** What a backslash and this letter stand for. */
function* escapedBy(letter: string): Reading<string> {
  const width = { x: 2, u: 4, U: 8 }[letter]
  if (width !== undefined) {
    let digits = ''
    while (digits.length < width) digits += yield
    // Half of a pair, as JSON may have it, is left to its other half.
    return letter === 'u'
      ? `\\u${digits}`
      : insideOfString(String.fromCodePoint((Number.parseInt(digits, 16) || 0) % 0x11_00_00))
  }
  if ('"\\/bfnrt'.includes(letter)) return `\\${letter}`
  if (letter === "'") return letter
  return letter === '\n' ? '' : insideOfString(`\\${letter}`)
}
