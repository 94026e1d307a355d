/** The other values that might have stood where a leaf stands, as far as their first different token decides them. */
import { type DocumentLeaf, endsScalar } from '../sources/leaves.js'
import type { Draw, DrawnSpan } from './draw.js'
import { continues, reaches, touches, type WrittenTokens } from './likelihood.js'

export type OtherValue = DocumentLeaf['value']

export interface Others {
  readonly values: ReadonlyMap<OtherValue, number>
  /** How likely those are of which it is not known which. */
  readonly unknown: number
}

/** Less likely texts are not looked at. */
const NEGLIGIBLE = 1e-4

/** Undefined where they are many. */
export function othersOf(draws: readonly Draw[], span: DrawnSpan, written: WrittenTokens): Others | undefined {
  const values = new Map<OtherValue, number>()
  let [reached, unknown] = [1, 0]
  for (const draw of draws) {
    if (!touches(draw, span, written)) continue
    if (!draw.all) return undefined
    for (const [token, share] of draw.shares) {
      if (token === draw.token) continue
      const far = draw.at < span.start ? reaches(draw, token, span.start, written) : 'into'
      if (far === 'not' || isSame(draw, token, span, written)) continue
      const likely = reached * share
      if (likely < NEGLIGIBLE || far === 'up to') {
        unknown += likely
        continue
      }
      const value = valueAfter(draw, token, span, written)
      if (value === undefined) unknown += likely
      else values.set(value, (values.get(value) ?? 0) + likely)
    }
    reached *= draw.shares.get(draw.token)!
  }
  return { values, unknown }
}

/** Whether it writes the value that stands there as far as it goes, or what may follow it as well. */
function isSame({ at }: Draw, token: number, span: DrawnSpan, written: WrittenTokens): boolean {
  const bytes = written.bytesOf(token)
  return at + bytes.length > span.start && continues(bytes, at, span, written)
}

/** The value that is certain after a token; undefined where there are several. */
function valueAfter(draw: Draw, token: number, { start }: DrawnSpan, written: WrittenTokens): OtherValue | undefined {
  const after = draw.grammar.clone()
  if (!after.accept(token)) return undefined
  const bytes: number[] = []
  for (let at = start; at < draw.at; at++) bytes.push(written.byte(at))
  bytes.push(...written.bytesOf(token).subarray(Math.max(0, start - draw.at)), ...after.forced())
  return firstValue(Uint8Array.from(bytes))
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const WORDS: readonly (readonly [string, OtherValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** The string, number or word that a text begins with, if it is whole. */
function firstValue(bytes: Uint8Array): OtherValue | undefined {
  const end = bytes[0] === QUOTE ? endOfString(bytes) : bytes.findIndex(endsScalar)
  const text = new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end))
  const word = WORDS.find(([name]) => name === text)
  if (word) return word[1]
  if (end < 0) return undefined
  try {
    return JSON.parse(text) as OtherValue
  } catch {
    return undefined
  }
}

function endOfString(bytes: Uint8Array): number {
  for (let i = 1; i < bytes.length; i++) {
    if (bytes[i] === BACKSLASH) i++
    else if (bytes[i] === QUOTE) return i + 1
  }
  return -1
}
