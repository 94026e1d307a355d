import type { Guided } from '../answer/guided.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { type Guess, guessOf } from './guess.js'
import type { OpenValue } from './open-value.js'
import { type DraftRoom, type GuessKind, GuidedPath, type GuidedPlace, type Path } from './path.js'
import type { DraftSource } from './source.js'

export interface DraftPlace extends GuidedPlace {
  readonly value: OpenValue
  readonly source: DraftSource
  readonly tokenizer: Tokenizer
}

/** Guesses how a document goes on, as far as there is room; undefined where nothing is guessed. */
export function foresee(place: DraftPlace, room: DraftRoom): Path | undefined {
  const { source, tokenizer } = place
  let next = guesses(place.guided, place.value, source, tokenizer)
  const path = next.length === 0 ? undefined : GuidedPath.at(place, room)
  while (path && next.length > 0) {
    const { token, kind } = next.shift()!
    const before = path.tokens.length
    if (!path.push(token, kind)) break
    // What is certain has come behind it.
    const went = path.tokens.length !== before + 1 || path.tokens[before] !== token
    if (went || next.length === 0) next = guesses(path.guided, path.value!, source, tokenizer)
  }
  return path?.path
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
