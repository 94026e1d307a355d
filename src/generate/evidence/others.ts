/** The value that might have stood where a leaf stands, as far as the first token that differs decides it. */
import { type DocumentLeaf, endsScalar } from '../sources/leaves.js'
import type { Draw, DrawnSpan } from './draw.js'
import { becomes, isSame, reaches, reaching, touches, type WrittenTokens } from './likelihood.js'

export interface OtherValue {
  readonly value: DocumentLeaf['value']
  /** As it would have been written. */
  readonly text: Uint8Array
}

/** Less likely texts are not looked at. */
const NEGLIGIBLE = 1e-4

/** The likeliest of all others; undefined where they are many, or where it is not certain which one it is. */
export function runnerUpOf(draws: readonly Draw[], span: DrawnSpan, written: WrittenTokens): OtherValue | undefined {
  const others = new Map<OtherValue['value'], OtherValue & { least: number }>()
  let [reached, unknown] = [1, 0]
  for (const draw of draws) {
    if (!touches(draw, span, written)) continue
    if (!draw.all) return undefined
    reached /= reaching(draw, span, written)
    for (const [token, share] of draw.shares) {
      if (token === draw.token) continue
      const far = draw.at < span.start ? reaches(draw, token, span.start, written) : 'into'
      if (far === 'not') continue
      const same = isSame(draw, token, span, written)
      if (same && becomes(draw, token, span, written)) continue
      const likely = reached * share
      const other = same || likely < NEGLIGIBLE || far === 'up to' ? undefined : valueAfter(draw, token, span, written)
      if (!other) unknown += likely
      else others.set(other.value, { ...other, least: likely + (others.get(other.value)?.least ?? 0) })
    }
    reached *= draw.shares.get(draw.token)!
  }
  const [best, second] = [...others.values()].sort((a, b) => b.least - a.least)
  // Whatever is unknown may all be another's.
  return best && best.least >= (second?.least ?? 0) + unknown ? best : undefined
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
const WORDS: readonly (readonly [string, OtherValue['value']])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** The string, number or word that a text begins with, if it is whole. */
function firstValue(bytes: Uint8Array): OtherValue | undefined {
  const end = bytes[0] === QUOTE ? endOfString(bytes) : bytes.findIndex(endsScalar)
  const text = end < 0 ? bytes : bytes.subarray(0, end)
  const written = new TextDecoder().decode(text)
  const word = WORDS.find(([name]) => name === written)
  if (word) return { value: word[1], text }
  if (end < 0) return undefined
  try {
    return { value: JSON.parse(written) as OtherValue['value'], text }
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
