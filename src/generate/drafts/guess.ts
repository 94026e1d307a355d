import { isOfWord } from '../../platform/index.js'
import type { OpenValue } from './open-value.js'
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
  const { said, quoted, key } = value
  if (said === undefined || said.includes('\\')) return undefined
  const follows = said === '' ? source.labelled(key, MOST) : source.after(said, MOST)
  if (follows === undefined) return undefined
  return quoted ? restOfString(said, follows) : restOfNumber(said, follows)
}

function restOfNumber(said: string, follows: string): Guess | undefined {
  const text = /^[-\d.]*\d/.exec(follows)?.[0] ?? ''
  return /^-?\d*\.?\d*$/.test(said) && text !== '' ? { text, copied: text.length } : undefined
}

function restOfString(said: string, follows: string): Guess {
  const end = endOf(said, follows)
  const text = follows.slice(0, end)
  return { text: end < MOST ? `${text}"` : text, copied: text.length }
}

/** Signs that end what a text says of one thing, unless the value has gone on behind such a one before. */
const ENDS = ',;:!?()[]{}<>|'

function endOf(said: string, follows: string): number {
  for (let i = 0; i < follows.length; i++) {
    const char = follows[i]!
    const next = follows[i + 1] ?? ' '
    // No string of JSON has these as they are.
    if (char < ' ' || char === '"' || char === '\\') return i
    const before = i === 0 ? (said.at(-1) ?? ' ') : follows[i - 1]!
    const within = isOfWord(before) && isOfWord(next)
    if (ENDS.includes(char) && !within && !said.includes(char)) return i
    if (char === '.' && next <= ' ' && !said.includes('. ')) return i
    // Names and numbers end before the next word of the sentence.
    if (char === ' ' && !beginsName(next) && isName(said + follows.slice(0, i))) return i
  }
  return follows.length
}

/** Each of its words begins as those of names and numbers do. */
const isName = (text: string): boolean => text.split(' ').every((word) => word === '' || beginsName(word[0]!))

const beginsName = (char: string): boolean => /[\p{Lu}\p{Lo}\p{N}#&+]/u.test(char)
