/** Vocabularies for the proof: small ones for languages that are known whole, made-up large ones of every spelling. */

import { Vocabulary } from '../../src/grammar/structured.js'
import type { Random } from './languages.js'

const encoder = new TextEncoder()

/** Every byte, and random pieces of what texts are made of; no eos among them. */
export function smallVocabulary(random: Random, bytesOnly: boolean): Vocabulary {
  const pieces = [
    'a',
    'b',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'é',
    '😀',
    'null',
    'na',
    '1',
    '-',
    '\\n',
    'true',
    ' ',
    '\n',
  ]
  const texts = new Set<string>()
  for (let i = 0; !bytesOnly && i < 120; i++) {
    let bytes = ''
    for (let n = 1 + Math.floor(random() * 4); n > 0; n--) {
      bytes += Buffer.from(pieces[Math.floor(random() * pieces.length)]!).toString('latin1')
    }
    // Some begin or end inside a character.
    const from = random() < 0.15 ? 1 : 0
    texts.add(bytes.slice(from, random() < 0.15 ? -1 : undefined))
  }
  texts.delete('')
  const tokens = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...[...texts].map((text) => Uint8Array.from(Buffer.from(text, 'latin1'))),
    undefined,
  ]
  return new Vocabulary(tokens, { eos: tokens.length - 1 })
}

/** The bytes of these texts, and some pieces of them; no eos among them. */
export function tinyVocabulary(random: Random, texts: Iterable<string>, pieces: number): Vocabulary {
  const all = [...texts].map((text) => Buffer.from(text).toString('latin1'))
  const words = new Set(all.flatMap((text) => [...text]))
  for (let i = 0; i < pieces; i++) {
    const text = all[Math.floor(random() * all.length)]!
    const from = Math.floor(random() * text.length)
    words.add(text.slice(from, from + 2 + Math.floor(random() * 4)))
  }
  const tokens = [...[...words].map((word) => Uint8Array.from(Buffer.from(word, 'latin1'))), undefined]
  return new Vocabulary(tokens, { eos: tokens.length - 1 })
}

export function wordsOf(vocabulary: Vocabulary): { words: Set<string>; longest: number } {
  const words = new Set<string>()
  let longest = 0
  for (let token = 0; token < vocabulary.size; token++) {
    const bytes = vocabulary.bytes(token)
    if (bytes.length > 0) words.add(Buffer.from(bytes).toString('latin1'))
    longest = Math.max(longest, bytes.length)
  }
  return { words, longest }
}

const SYLLABLES =
  'a e i o u an en in on st th er re the ing tion na ka mi lo 1 2 0 19 20 _ - . / é ñ 語 の д 😀 ß'.split(' ')
const MARKS = [
  '"',
  '":',
  '":"',
  '","',
  '{"',
  '"}',
  '},',
  '],',
  '[',
  ']',
  '\\n',
  '\\"',
  '\\u00',
  ': ',
  ', ',
  '\n',
  '  ',
  '\t',
]

/** A tokenizer.json with so many made-up tokens, spelled as byte-level BPE or as SentencePiece with its bytes as the fall-back. */
export function madeUpTokenizer(random: Random, size: number, spelling: 'byte-level' | 'sentencepiece'): object {
  const vocab: Record<string, number> = Object.create(null)
  let next = 0
  const add = (name: string) => {
    if (vocab[name] === undefined) vocab[name] = next++
  }
  const letters = byteLetters()
  const spelled = (text: string) =>
    spelling === 'byte-level'
      ? Array.from(encoder.encode(text), (byte) => letters[byte]!).join('')
      : text.replaceAll(' ', '▁')
  if (spelling === 'byte-level') for (const letter of letters) add(letter)
  else for (let byte = 0; byte < 256; byte++) add(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
  while (next < size - 1) {
    let text = random() < 0.4 ? ' ' : ''
    for (let n = 1 + Math.floor(random() * 5); n > 0; n--) {
      const from = random() < 0.12 ? MARKS : SYLLABLES
      text += from[Math.floor(random() * from.length)]!
    }
    const name = spelled(text)
    add(spelling === 'byte-level' && random() < 0.03 ? name.slice(0, -1) || name : name)
  }
  const special = { id: next, content: '</s>', special: true }
  const decoder =
    spelling === 'byte-level'
      ? { type: 'ByteLevel' }
      : { type: 'Sequence', decoders: [{ type: 'Replace' }, { type: 'ByteFallback' }, { type: 'Fuse' }] }
  return {
    model: { type: 'BPE', byte_fallback: spelling === 'sentencepiece', vocab },
    added_tokens: [special],
    decoder,
  }
}

/** GPT-2's letters, by byte. */
function byteLetters(): string[] {
  let others = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(printable ? byte : others++)
  })
}
