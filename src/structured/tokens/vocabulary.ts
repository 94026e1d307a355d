import type { TokenVocabulary } from '../../engine.js'
import { pack, unpack } from './pack.js'
import { plainLength } from './plain.js'
import { Trie } from './trie.js'

export interface VocabularyOptions {
  /** The tokens that end a text. */
  readonly eos: number | readonly number[]
  /** Tokens that stand for no text: never allowed inside a document. */
  readonly special?: Iterable<number>
}

interface Parts {
  readonly size: number
  readonly eos: readonly number[]
  readonly offsets: Uint32Array
  readonly blob: Uint8Array
  readonly trie: Trie
  readonly rest: Trie
  readonly plain: Uint32Array
  readonly plainEnds: Uint32Array
  readonly twins: Uint32Array
}

/** What the constraint must know of a tokenizer. Built once; `serialize` keeps it for the next start. */
export class Vocabulary implements TokenVocabulary {
  readonly size: number
  readonly eos: readonly number[]
  /** All tokens that stand for text. */
  readonly trie: Trie
  /** Those that are not whole characters of plain string content. */
  readonly rest: Trie
  /** The most characters in a token of plain string content. */
  readonly longestPlain: number
  /** The most bytes in a token of the others. */
  readonly longestRest: number
  readonly #parts: Parts
  readonly #masks: (Uint32Array | undefined)[] = []
  readonly #twins = new Map<number, number[]>()

  /** `tokens[id]` is the text of a token as bytes; empty or absent for one that stands for none. */
  constructor(tokens: readonly (Uint8Array | null | undefined)[], options: VocabularyOptions)
  constructor(parts: Parts)
  constructor(source: readonly (Uint8Array | null | undefined)[] | Parts, options?: VocabularyOptions) {
    const parts = 'blob' in source ? source : build(source, options!)
    this.#parts = parts
    this.size = parts.size
    this.eos = parts.eos
    this.trie = parts.trie
    this.rest = parts.rest
    this.longestPlain = parts.plainEnds.length - 1
    this.longestRest = parts.rest.depth
    for (let i = 0; i < parts.twins.length; i += 2) {
      const twins = this.#twins.get(parts.twins[i]!) ?? []
      twins.push(parts.twins[i + 1]!)
      this.#twins.set(parts.twins[i]!, twins)
    }
  }

  /** The 32-bit words of a mask. */
  get words(): number {
    return (this.size + 31) >> 5
  }

  /** The text of a token; empty if it stands for none. */
  bytes(token: number): Uint8Array {
    const { offsets, blob } = this.#parts
    return token >= 0 && token < this.size ? blob.subarray(offsets[token]!, offsets[token + 1]!) : blob.subarray(0, 0)
  }

  /** Other tokens with the same text as this one, which stands for all of them in the tries. */
  twins(token: number): readonly number[] | undefined {
    return this.#twins.get(token)
  }

  /** The tokens of plain string content with at most so many characters. */
  plainMask(characters: number): Uint32Array {
    const length = Math.min(characters, this.longestPlain)
    let mask = this.#masks[length]
    if (mask === undefined) {
      mask = new Uint32Array(this.words)
      const { plain, plainEnds } = this.#parts
      for (let i = 0; i < plainEnds[length]!; i++) mask[plain[i]! >> 5]! |= 1 << (plain[i]! & 31)
      this.#masks[length] = mask
    }
    return mask
  }

  serialize(): Uint8Array {
    const { size, eos, offsets, blob, trie, rest, plain, plainEnds, twins } = this.#parts
    const tries = [trie, rest].flatMap(({ bytes, first, tokens }) => [bytes, first, tokens])
    return pack([Uint32Array.of(size, ...eos), offsets, blob, ...tries, plain, plainEnds, twins])
  }

  /** What `serialize` wrote. */
  static deserialize(data: Uint8Array): Vocabulary {
    const sections = unpack(data)
    if (sections.length !== 12) throw new Error('this is not a serialised vocabulary')
    const words = (i: number) => sections[i]!.words
    const trie = (i: number) => new Trie(sections[i]!.bytes, words(i + 1), new Int32Array(words(i + 2)))
    const [size, ...eos] = words(0)
    const [plain, plainEnds, twins] = [words(9), words(10), words(11)]
    return new Vocabulary({
      size: size!,
      eos,
      offsets: words(1),
      blob: sections[2]!.bytes,
      trie: trie(3),
      rest: trie(6),
      plain,
      plainEnds,
      twins,
    })
  }
}

function build(tokens: readonly (Uint8Array | null | undefined)[], options: VocabularyOptions): Parts {
  const eos = typeof options.eos === 'number' ? [options.eos] : options.eos
  const silent = new Set([...(options.special ?? []), ...eos])
  // No grammar here has raw control characters anywhere, so that such tokens need no look.
  const usable = (token: Uint8Array, id: number) => !silent.has(id) && token.every((byte) => byte >= 0x20)
  const texts = tokens.map((token, id) => (token && usable(token, id) ? String.fromCharCode(...token) : ''))
  const order = texts.map((_, id) => id).filter((id) => texts[id] !== '')
  order.sort((a, b) => (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : a - b))
  const twins: number[] = []
  const distinct = order.filter((id, i) => {
    let before = i
    while (before > 0 && texts[order[before - 1]!] === texts[id]) before--
    if (before !== i) twins.push(order[before]!, id)
    return before === i
  })
  const lengths = tokens.map((token, id) => (texts[id] === '' ? 0 : plainLength(token!)))
  const restIds = distinct.filter((id) => lengths[id] === 0)
  const plain = order.filter((id) => lengths[id]! > 0).sort((a, b) => lengths[a]! - lengths[b]!)
  const longest = plain.length === 0 ? 0 : lengths[plain.at(-1)!]!
  const plainEnds = new Uint32Array(longest + 1)
  for (const id of plain) plainEnds[lengths[id]!]!++
  for (let i = 1; i <= longest; i++) plainEnds[i]! += plainEnds[i - 1]!
  const offsets = new Uint32Array(tokens.length + 1)
  for (let id = 0; id < tokens.length; id++) offsets[id + 1] = offsets[id]! + texts[id]!.length
  const blob = new Uint8Array(offsets[tokens.length]!)
  for (let id = 0; id < tokens.length; id++) if (texts[id] !== '') blob.set(tokens[id]!, offsets[id])
  const trieOf = (ids: readonly number[]) =>
    Trie.build(
      ids.map((id) => texts[id]!),
      ids,
    )
  return {
    size: tokens.length,
    eos,
    offsets,
    blob,
    trie: trieOf(distinct),
    rest: trieOf(restIds),
    plain: Uint32Array.from(plain),
    plainEnds,
    twins: Uint32Array.from(twins),
  }
}
