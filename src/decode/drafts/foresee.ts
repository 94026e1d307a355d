import type { Guided } from '../answer/guided.js'
import type { SampleSettings } from '../token-model.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { type Guess, guessOf } from './guess.js'
import type { OpenValue } from './open-value.js'
import type { DraftSource } from './source.js'

/** What a guess goes by: how often those of its kind are right is counted apart. */
export type GuessKind = 'label' | 'short' | 'copy' | 'end'

/** A place at which a token is drawn. */
export interface GuessedDraw {
  /** How many tokens of the path stand before it. */
  readonly at: number
  readonly mask: Uint32Array
  /** What is guessed to be drawn; undefined at the end of the path. */
  readonly guess?: { readonly token: number; readonly kind: GuessKind }
}

/** A path, as the model is asked. */
export interface Drafted {
  readonly tokens: readonly number[]
  readonly draws: readonly (Omit<GuessedDraw, 'mask'> & { readonly settings: SampleSettings })[]
}

/** How a document may go on. */
export interface Path {
  /** What would be appended: guesses, and what is certain after each. */
  readonly tokens: readonly number[]
  readonly draws: readonly GuessedDraw[]
}

export interface DraftPlace {
  readonly guided: Guided
  readonly value: OpenValue
  readonly source: DraftSource
  readonly tokenizer: Tokenizer
  bytesOf(token: number): Uint8Array
  /** Tokens that may still be written. */
  readonly remaining: number
  /** In 32-bit words. */
  readonly maskLength: number
}

/** How much may be guessed. */
export interface DraftRoom {
  /** Tokens that a path may have. */
  readonly rows: number
  /** Guesses in it. */
  readonly draws: number
}

/**
 * Guesses how a document goes on, as far as there is room; undefined where nothing is guessed. Every guess is followed exactly as an answer is: the tokens it would append, the mask with which the next would be drawn.
 */
export function foresee(place: DraftPlace, room: DraftRoom): Path | undefined {
  const { source, tokenizer, bytesOf, remaining, maskLength } = place
  const guided = place.guided.clone()
  const value = place.value.clone()
  const tokens: number[] = []
  const draws: GuessedDraw[] = []
  let mask = new Uint32Array(maskLength)
  let next = guesses(guided, value, source, tokenizer)
  if (next.length === 0 || !guided.mask(mask, remaining)) return undefined
  while (next.length > 0 && draws.length < room.draws) {
    const guess = next.shift()!
    const { token } = guess
    if (((mask[token >>> 5]! >>> (token & 31)) & 1) === 0 || !guided.accept(token)) break
    value.push(bytesOf(token))
    const appended = [token]
    const left = () => remaining - tokens.length - appended.length
    let whole = true
    while (!guided.done && left() > 0) {
      const run = guided.plan(left(), true)
      if (run === undefined) break
      // What was drawn before would be another token: then nothing can be fed after it.
      whole = run.replace <= appended.length
      if (!whole) break
      guided.commit(run)
      appended.length -= run.replace
      appended.push(...run.tokens)
      value.push(run.bytes)
      next = []
    }
    if (!whole || guided.done || left() <= 0) break
    if (tokens.length + appended.length > room.rows) break
    const after = new Uint32Array(maskLength)
    if (!guided.mask(after, left())) break
    draws.push({ at: tokens.length, mask, guess })
    tokens.push(...appended)
    mask = after
    if (next.length === 0) next = guesses(guided, value, source, tokenizer)
  }
  if (draws.length === 0) return undefined
  draws.push({ at: tokens.length, mask })
  return { tokens, draws }
}

function guesses(guided: Guided, value: OpenValue, source: DraftSource, tokenizer: Tokenizer) {
  const guess = guessOf(value, source)
  if (guess === undefined || guess.text === '') return []
  const whole = withWhatFollows(guess, guided)
  const began = value.said!.length
  const kind = began === 0 ? 'label' : began < 3 ? 'short' : 'copy'
  let length = 0
  return guided.spell(whole.text).map((token): { token: number; kind: GuessKind } => {
    length += tokenizer.bytes(token).length
    return { token, kind: length > copiedBytes(whole) ? 'end' : kind }
  })
}

const copiedBytes = ({ text, copied }: Guess): number => new TextEncoder().encode(text.slice(0, copied)).length

/** With what the grammar has behind the end of the value: a closing quote is often part of a longer token. */
function withWhatFollows(guess: Guess, guided: Guided): Guess {
  if (guess.copied === guess.text.length) return guess
  const after = guided.clone()
  if (!guided.spell(guess.text).every((token) => after.accept(token))) return guess
  const forced = new TextDecoder('utf-8', { ignoreBOM: true }).decode(after.forced.subarray(0, 16))
  return forced.includes('\ufffd') ? guess : { ...guess, text: guess.text + forced }
}
