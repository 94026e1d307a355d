/**
 * How likely a model was to write what stands in a stretch of a document, among all that the grammar admitted there.
 *
 * Of each token that was drawn within the stretch it is known what else might have come. What agrees with the stretch's
 * text is another way to write the same: it counts where the rest is certain after it, and where it is not, it is open
 * how much of it counts until the model is asked. Tokens that reach into the stretch from before it, or out of it, count
 * by what of them stands within: only those are looked at that agree with what comes before.
 */
import { endsScalar } from '../sources/leaves.js'
import type { Draw, DrawnSpan, Place } from './draw.js'

export interface Likelihood {
  /** Of what is surely the stretch. */
  readonly sure: number
  /** Of beginnings of it that may or may not become it. */
  readonly open: readonly Beginning[]
  /** Whether there was a choice at all. */
  readonly chosen: boolean
  /** Something else was drawn, where the stretch is not what stands there. */
  readonly strayed: boolean
}

/** A token that might have come in place of what did. */
export interface Beginning {
  readonly place: Place
  readonly token: number
  readonly likely: number
}

/** The bytes of the document, and those of tokens. */
export interface WrittenTokens {
  byte(at: number): number
  bytesOf(token: number): Uint8Array
}

/** Less than anybody could see. */
const NOTHING = 1e-9

export function likelihoodOf(draws: readonly Draw[], span: DrawnSpan, written: WrittenTokens): Likelihood {
  let [reached, sure, chosen, strayed] = [1, 0, false, false]
  const open: Beginning[] = []
  for (const draw of draws) {
    if (!touches(draw, span, written)) continue
    const own = draw.shares.get(draw.token)!
    // Of a text that might have been written, the answer may have gone another way.
    const bytes = written.bytesOf(draw.token)
    const goesOn = continues(bytes, draw.at, span, written)
    const { among, same, unsure } = weighed(draw, span, written, goesOn ? draw.token : undefined)
    sure += (reached * same) / among
    for (const [token, share] of unsure) open.push({ place: draw, token, likely: (reached * share) / among })
    chosen ||= hasOthers(draw, span, written)
    reached *= goesOn ? own / among : 0
    strayed = !goesOn
    if (strayed) break
  }
  return { sure: Math.min(1, sure + reached), open, chosen, strayed }
}

/** Whether anything else was admitted, however unlikely. */
const hasOthers = ({ token, ...place }: Draw, { start }: DrawnSpan, written: WrittenTokens): boolean =>
  !place.all || [...place.shares.keys()].some((one) => one !== token && reaches(place, one, start, written) !== 'not')

/** Whether a token that writes the stretch, or the beginning of it, was admitted, however unlikely. */
export const wasAdmitted = (draws: readonly Draw[], span: DrawnSpan, written: WrittenTokens): boolean =>
  draws.some((draw) => draw.at <= span.start && [...draw.shares.keys()].some((one) => isSame(draw, one, span, written)))

/** Whether it writes the value that stands there as far as it goes, or what may follow it as well. */
export function isSame({ at }: Draw, token: number, span: DrawnSpan, written: WrittenTokens): boolean {
  const bytes = written.bytesOf(token)
  return at + bytes.length > span.start && continues(bytes, at, span, written)
}

/** Whether what was drawn, or might have been, says anything of the stretch. */
export function touches(draw: Draw, { start, end, closed }: DrawnSpan, written: WrittenTokens): boolean {
  if (draw.at >= start) return draw.at < end || (draw.at === end && !closed)
  return reaches(draw, draw.token, start, written) !== 'not'
}

/** Whether a token goes on behind `start`, or up to it, also by what is certain after it. */
export function reaches(
  { at, grammar }: Place,
  token: number,
  start: number,
  written: WrittenTokens,
): 'into' | 'up to' | 'not' {
  const bytes = written.bytesOf(token)
  if (!agrees(bytes, at, start, written)) return 'not'
  if (at + bytes.length > start) return 'into'
  if (at + bytes.length === start) return 'up to'
  const after = grammar.clone()
  return after.accept(token) && at + bytes.length + after.forced().length >= start ? 'up to' : 'not'
}

export interface Weighed {
  /** Of all tokens that count. */
  readonly among: number
  /** Of those that surely write the stretch. */
  readonly same: number
  /** Those that may. */
  readonly unsure: readonly (readonly [token: number, share: number])[]
}

/** Of a place's tokens, but for the one that was drawn there. */
export function weighed(place: Place, span: DrawnSpan, written: WrittenTokens, drawn?: number): Weighed {
  const { at, shares } = place
  let same = 0
  const unsure: [number, number][] = []
  for (const [token, share] of shares) {
    if (reaches(place, token, span.start, written) === 'not') continue
    const bytes = written.bytesOf(token)
    if (token === drawn || share < NOTHING || !continues(bytes, at, span, written)) continue
    if (becomes(place, token, span, written)) same += share
    else unsure.push([token, share])
  }
  return { among: reaching(place, span, written), same, unsure }
}

/** How likely a place's tokens that count are together. */
export function reaching(place: Place, { start }: DrawnSpan, written: WrittenTokens): number {
  // What was not asked for reaches into the stretch in one way only, else it would have been.
  if (place.at >= start || !place.reaching) return 1
  let among = 0
  for (const [token, share] of place.shares) if (reaches(place, token, start, written) !== 'not') among += share
  return among
}

/** Whether bytes that begin at `at` are those of the document up to `end`, as far as they go. */
export function agrees(bytes: Uint8Array, at: number, end: number, { byte }: WrittenTokens): boolean {
  for (let i = 0; i < bytes.length && at + i < end; i++) if (bytes[i] !== byte(at + i)) return false
  return true
}

/** Whether a text writes what stands in the stretch, or the beginning of it. */
export function continues(bytes: Uint8Array, at: number, span: DrawnSpan, written: WrittenTokens): boolean {
  // A token without bytes ends the document.
  if (bytes.length === 0) return at === span.end
  if (!agrees(bytes, at, span.end, written)) return false
  const behind = bytes[span.end - at]
  return span.closed || behind === undefined || endsScalar(behind)
}

export const isWholeSpan = (bytes: Uint8Array, at: number, { end, closed }: DrawnSpan): boolean =>
  bytes.length === 0 || at + bytes.length > end || (closed && at + bytes.length === end)

/** Whether a token that continues the stretch is the whole of it, or nothing but its text can come of it. */
export function becomes({ at, grammar }: Place, token: number, span: DrawnSpan, written: WrittenTokens): boolean {
  const bytes = written.bytesOf(token)
  if (isWholeSpan(bytes, at, span)) return true
  const after = grammar.clone()
  if (!after.accept(token)) return false
  const from = at + bytes.length
  const forced = after.forced()
  return isWholeSpan(forced, from, span) && forced.length > 0 && continues(forced, from, span, written)
}
