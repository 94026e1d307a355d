import type { TokenVocabulary } from '../../contract/index.js'
import { Kept } from '../kept.js'
import { wordsOf } from './from-tokenizer.js'
import { pack, unpack } from './pack.js'
import { fillPlain, heightLimit, TALL, Trie } from './trie.js'
import { endOf, MALFORMED } from './utf8.js'

export interface VocabularyOptions {
  /** The tokens that end a text. */
  readonly eos: number | readonly number[]
  /**
   * Tokens without text: never allowed inside a document.
   * @default none
   */
  readonly special?: Iterable<number>
  /**
   * Tokens without text that a grammar may use by name: `<tool_call>`.
   * @default none
   */
  readonly named?: Readonly<Record<string, number>>
}

interface Parts {
  readonly size: number
  readonly longestSpecial: number
  readonly eos: readonly number[]
  readonly named: ReadonlyMap<string, number>
  readonly offsets: Uint32Array
  readonly blob: Uint8Array
  readonly whole: Trie
  readonly cut: Trie
  readonly quoted: Trie
}

/** Masks of plain content kept, of 19 KB each for a vocabulary of 152,000. */
const PLAIN_MASKS = 96

/** What a constraint must know of a tokenizer. Build it once; `serialize` stores it for the next start. */
export class Vocabulary implements TokenVocabulary {
  readonly size: number
  readonly eos: readonly number[]
  /** The tokens without text that a grammar may use by name. */
  readonly named: ReadonlyMap<string, number>
  /** The tokens with a quote: whether they are allowed depends on what comes after the string. */
  readonly quoted: Trie
  /** Those without that may end inside a character. */
  readonly cut: Trie
  /** All others with text. */
  readonly whole: Trie
  /** Together all tokens with text. */
  readonly tries: readonly Trie[]
  /** The most bytes in a token that is not plain string content, cut off or not. */
  readonly longestSpecial: number
  /** The most characters in a token. */
  readonly tallest: number
  readonly #parts: Parts
  readonly #plain = new Kept<number, Uint32Array>(PLAIN_MASKS)

  /** `tokens[id]` is the text of a token as bytes; empty or absent for one that stands for none. */
  constructor(tokens: readonly (Uint8Array | null | undefined)[], options: VocabularyOptions)
  constructor(parts: Parts)
  constructor(source: readonly (Uint8Array | null | undefined)[] | Parts, options?: VocabularyOptions) {
    const parts = 'blob' in source ? source : build(source, options!)
    this.#parts = parts
    this.size = parts.size
    this.eos = parts.eos
    this.named = parts.named
    this.whole = parts.whole
    this.cut = parts.cut
    this.quoted = parts.quoted
    this.tries = [parts.whole, parts.cut, parts.quoted]
    this.longestSpecial = parts.longestSpecial
    const tallest = Math.max(...this.tries.map((trie) => trie.heights[0]!))
    this.tallest = tallest < TALL ? tallest : Infinity
  }

  /** The 32-bit words of a mask. */
  get words(): number {
    return (this.size + 31) >> 5
  }

  /** The text of a token; empty if it has none. */
  bytes(token: number): Uint8Array {
    const { offsets, blob } = this.#parts
    return token >= 0 && token < this.size ? blob.subarray(offsets[token]!, offsets[token + 1]!) : blob.subarray(0, 0)
  }

  /**
   * The tokens with at most `room` characters, none of the kinds `leaving` (see `automata/kinds.ts`); `cut`: also those
   * that end inside a character.
   */
  plainMask(leaving: number, room: number, cut: boolean): Uint32Array {
    const height = heightLimit(room)
    const key = (leaving * 512 + Math.min(height, 511)) * 2 + (cut ? 1 : 0)
    let mask = this.#plain.get(key)
    if (mask === undefined) {
      mask = new Uint32Array(this.words)
      fillPlain(mask, this.whole, leaving, height)
      if (cut) fillPlain(mask, this.cut, leaving, height)
      this.#plain.set(key, mask)
    }
    return mask
  }

  /**
   * From the content of a tokenizer.json (byte-level BPE, SentencePiece). `eos` are the tokens that end a text, by id or
   * as they are written: `'<|im_end|>'`.
   */
  static fromTokenizer(
    tokenizerJson: unknown,
    { eos }: { readonly eos: number | string | readonly (number | string)[] },
  ): Vocabulary {
    const { tokens, ...options } = wordsOf(tokenizerJson, typeof eos === 'object' ? eos : [eos])
    return new Vocabulary(tokens, options)
  }

  serialize(): Uint8Array {
    const { size, longestSpecial, eos, named, offsets, blob } = this.#parts
    const tries = this.tries.flatMap(({ bytes, first, from, kinds, heights, tokens }) => [
      bytes,
      first,
      from,
      kinds,
      heights,
      tokens,
    ])
    const names = new TextEncoder().encode(JSON.stringify([...named]))
    return pack([Uint32Array.of(size, longestSpecial, ...eos), offsets, blob, ...tries, names])
  }

  /** What `serialize` wrote. */
  static deserialize(data: Uint8Array): Vocabulary {
    const sections = unpack(data)
    if (sections.length !== 22) throw new Error('this is not a serialised vocabulary')
    const words = (i: number) => sections[i]!.words
    const trie = (i: number) =>
      new Trie({
        bytes: sections[i]!.bytes,
        first: words(i + 1),
        from: words(i + 2),
        kinds: new Int32Array(words(i + 3).buffer, words(i + 3).byteOffset, words(i + 3).length),
        heights: sections[i + 4]!.bytes,
        tokens: words(i + 5),
      })
    const [size, longestSpecial, ...eos] = words(0)
    const [whole, cut, quoted] = [trie(3), trie(9), trie(15)]
    const blob = sections[2]!.bytes
    const named = new Map<string, number>(JSON.parse(new TextDecoder().decode(sections[21]!.bytes)))
    const header = { size: size!, longestSpecial: longestSpecial!, eos, named }
    return new Vocabulary({ ...header, offsets: words(1), blob, whole, cut, quoted })
  }
}

/** A character of UTF-8 has at most so many bytes behind its first. */
const MOST_FOLLOWING = 3

/** Whether a token may end inside a character: where it begins between two, or with the end of one. */
function isCut(bytes: Uint8Array, end: number): boolean {
  if (end !== MALFORMED) return end !== 0
  let begins = 0
  while (begins < MOST_FOLLOWING && (bytes[begins]! & 0xc0) === 0x80) begins++
  const rest = begins > 0 ? endOf(bytes.subarray(begins)) : MALFORMED
  return rest !== 0 && rest !== MALFORMED
}

function build(tokens: readonly (Uint8Array | null | undefined)[], options: VocabularyOptions): Parts {
  const eos = typeof options.eos === 'number' ? [options.eos] : options.eos
  const named = new Map(Object.entries(options.named ?? {}))
  const silent = new Set([...(options.special ?? []), ...eos, ...named.values()])
  const texts = tokens.map((token, id) => (token && !silent.has(id) ? String.fromCharCode(...token) : ''))
  const order = texts.map((_, id) => id).filter((id) => texts[id] !== '')
  order.sort((a, b) => (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : a - b))
  const offsets = new Uint32Array(tokens.length + 1)
  for (let id = 0; id < tokens.length; id++) offsets[id + 1] = offsets[id]! + texts[id]!.length
  const blob = new Uint8Array(offsets[tokens.length]!)
  for (let id = 0; id < tokens.length; id++) if (texts[id] !== '') blob.set(tokens[id]!, offsets[id])
  const ends = order.map((id) => endOf(tokens[id]!))
  const longestSpecial = order.reduce((longest, id, i) => {
    const special = ends[i] === MALFORMED || texts[id]!.includes('"') || texts[id]!.includes('\\')
    return special ? Math.max(longest, texts[id]!.length) : longest
  }, 0)
  const trie = (belongs: (i: number) => boolean) => {
    const ids = order.filter((_, i) => belongs(i))
    return Trie.build(
      ids.map((id) => texts[id]!),
      ids,
    )
  }
  const quoted = order.map((id) => texts[id]!.includes('"'))
  const cut = order.map((id, i) => !quoted[i] && isCut(tokens[id]!, ends[i]!))
  return {
    size: tokens.length,
    longestSpecial,
    eos,
    named,
    offsets,
    blob,
    whole: trie((i) => !quoted[i] && !cut[i]),
    cut: trie((i) => cut[i]!),
    quoted: trie((i) => quoted[i]!),
  }
}
