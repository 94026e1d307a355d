import { isRecord, type JsonObject, noteNumber, type Slices } from '../../platform/index.js'
import { at, badRequest } from '../wire/fields.js'
import { endOfString } from './json-in-slices.js'

/** Characters that are looked through without a pause, and as many as tell a long number that lies between two such pieces. */
const PIECE = 2 ** 16
const BETWEEN = 20

/** What a number that a double does not hold has somewhere: many digits, or a large exponent. */
const LONG = /[\d.]{16}|\d[eE][+-]?\d{3}/
const NUMBER = /-?\d[\d.eE+-]*/y

/** What a model is told: earlier calls, beside which tools may be added, and what it is asked about. */
const TOLD: ReadonlySet<unknown> = new Set(['messages', 'input', 'state'])
/** Where a value must come out as it was sent. */
const CHOSEN: ReadonlySet<unknown> = new Set(['const', 'enum'])
/** What stands in these has a name that somebody has made up, such as 'enum'. */
const NAMED: ReadonlySet<unknown> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])

/**
 * Numbers of a body with more digits than a double holds, which a client that reads JSON exactly sends and wants back. In a
 * conversation, where they are arguments of calls, they are noted as they were written. Among values to choose from they are
 * refused: what would be chosen is another. Elsewhere they say how much, and the nearest double does.
 */
export function* checkLongNumbers(text: string, body: unknown): Slices<void> {
  if (!(yield* hasLong(text))) return
  yield* longNumbersIn(text, (path, number) => {
    if (TOLD.has(path[0]) && path[2] !== 'tools') note(body, path, number)
    else if (isChosen(path)) {
      const param = path.reduce<string>(at, '')
      const message = `Invalid '${param}': ${number.slice(0, 100)} has more digits than a number keeps here: use a string.`
      throw badRequest(param, message, 'invalid_value')
    }
  })
}

function isChosen(path: Path): boolean {
  let isName = false
  return path.some((name) => {
    const isKeyword = !isName
    isName = isKeyword && NAMED.has(name)
    return isKeyword && CHOSEN.has(name)
  })
}

function* hasLong(text: string): Slices<boolean> {
  for (let from = 0; from < text.length; from += PIECE) {
    if (LONG.test(text.slice(from, from + PIECE + BETWEEN))) return true
    if (from > 0) yield
  }
  return false
}

type Path = readonly (string | number)[]

/** In JSON that was parsed already; of each `found` is told at once: there may be so many that all together take long. */
function* longNumbersIn(text: string, found: (path: Path, number: string) => void): Slices<void> {
  /** Of the lists and objects around it, which item or field it is; a field whose name is yet to come has none. */
  const path: (string | number | undefined)[] = []
  let pause = PIECE
  for (let i = 0; i < text.length; i++) {
    if (i > pause) {
      yield
      pause = i + PIECE
    }
    const symbol = text[i]!
    const inner = path.at(-1)
    if (symbol === '"') {
      const end = endOfString(text, i)
      if (path.length > 0 && inner === undefined) path[path.length - 1] = JSON.parse(text.slice(i, end + 1)) as string
      i = end
    } else if (symbol === '[') path.push(0)
    else if (symbol === '{') path.push(undefined)
    else if (symbol === ']' || symbol === '}') path.pop()
    else if (symbol === ',') path[path.length - 1] = typeof inner === 'number' ? inner + 1 : undefined
    else if (symbol === '-' || (symbol >= '0' && symbol <= '9')) {
      NUMBER.lastIndex = i
      const [number] = NUMBER.exec(text)!
      if (!isHeld(number)) found(path as Path, number)
      i += number.length - 1
    }
  }
}

/** Whether the double that is read of it is written as the same number again. */
const isHeld = (number: string): boolean =>
  number.length < 16 && !LONG.test(number) ? true : digitsOf(number) === digitsOf(String(Number(number)))

/** The same for numbers that are equal: the digits without zeros around them, and where the first of them stands. */
function digitsOf(number: string): string {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const point = digits.length - fraction.length + Number(power)
  return digits === '' ? '0' : `${digits.replace(/0+$/, '')} ${point}`
}

function note(body: unknown, path: Path, number: string): void {
  // Of two fields of one name the second stands, which may have nothing of the first.
  const within = (value: unknown, name: string | number) => (value as JsonObject | undefined | null)?.[name]
  const holder = path.slice(0, -1).reduce(within, body)
  if (isRecord(holder) || Array.isArray(holder)) noteNumber(holder, String(path.at(-1)), number)
}
