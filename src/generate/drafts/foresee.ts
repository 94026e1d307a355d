import { isOfWord } from '../../platform/index.js'
import type { Guided } from '../answer/guided.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import type { OpenValue } from './open-value.js'
import { type DraftRoom, type GuessKind, GuidedPath, type GuidedPlace, type Path } from './path.js'
import type { DraftSource } from './source.js'

export interface Guess {
  readonly text: string
  /** So many characters of it stand in the source; what follows them is the value's end. */
  readonly copied: number
}

/** Characters of a value that are guessed at once: more than a step has rows for. */
const MOST = 64

/**
 * How the open value goes on, if one that begins so stands in the source: by what follows there, and by its end where the
 * source has the end of something of its kind.
 */
export function guessOf(value: OpenValue, source: DraftSource): Guess | undefined {
  const { written, quoted, key } = value
  if (written === undefined || written.includes('\\')) return undefined
  const follows = written === '' ? source.labelled(key, MOST) : source.after(written, MOST)
  if (follows === undefined) return undefined
  return quoted ? restOfString(written, follows) : restOfNumber(written, follows)
}

function restOfNumber(written: string, follows: string): Guess | undefined {
  const text = /^[-\d.]*\d/.exec(follows)?.[0] ?? ''
  return /^-?\d*\.?\d*$/.test(written) && text !== '' ? { text, copied: text.length } : undefined
}

function restOfString(written: string, follows: string): Guess {
  const end = endOf(written, follows)
  const text = follows.slice(0, end)
  return { text: end < MOST ? `${text}"` : text, copied: text.length }
}

/** Signs that end what a text says of one thing, unless the value has gone on behind such a one before. */
const ENDS = ',;:!?()[]{}<>|'

function endOf(written: string, follows: string): number {
  for (let i = 0; i < follows.length; i++) {
    const char = follows[i]!
    const next = follows[i + 1] ?? ' '
    // No string of JSON has these as they are.
    if (char < ' ' || char === '"' || char === '\\') return i
    const before = i === 0 ? (written.at(-1) ?? ' ') : follows[i - 1]!
    const within = isOfWord(before) && isOfWord(next)
    if (ENDS.includes(char) && !within && !written.includes(char)) return i
    if (char === '.' && next <= ' ' && !written.includes('. ')) return i
    // Names and numbers end before the next word of the sentence.
    if (char === ' ' && !beginsName(next) && isName(written + follows.slice(0, i))) return i
  }
  return follows.length
}

/** Each of its words begins as those of names and numbers do. */
const isName = (text: string): boolean => text.split(' ').every((word) => word === '' || beginsName(word[0]!))

const beginsName = (char: string): boolean => /[\p{Lu}\p{Lo}\p{N}#&+]/u.test(char)

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
  const whole = withFollowing(guess, guided)
  const began = value.written!.length
  const kind = began === 0 ? 'label' : began < 3 ? 'short' : 'copy'
  let length = 0
  return guided.spell(whole.text).map((token): { token: number; kind: GuessKind } => {
    length += tokenizer.bytes(token).length
    return { token, kind: length > copiedBytes(whole) ? 'end' : kind }
  })
}

const copiedBytes = ({ text, copied }: Guess): number => new TextEncoder().encode(text.slice(0, copied)).length

/** With what the grammar has behind the end of the value: a closing quote is often part of a longer token. */
function withFollowing(guess: Guess, guided: Guided): Guess {
  if (guess.copied === guess.text.length) return guess
  const after = guided.clone()
  if (!guided.spell(guess.text).every((token) => after.accept(token))) return guess
  const forced = new TextDecoder('utf-8', { ignoreBOM: true }).decode(after.forced.subarray(0, 16))
  return forced.includes('\ufffd') ? guess : { ...guess, text: guess.text + forced }
}
