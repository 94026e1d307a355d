import { Tokenizer as HfTokenizer } from '@huggingface/tokenizers'
import {
  atOnce,
  byteName,
  bytesOfToken,
  type JsonObject,
  LruMap,
  type Slices,
  type Spelling,
  spellingOf,
  typesIn,
} from '../../platform/index.js'
import { assertShort, assertSound } from './assert-sound.js'
import { atSpaces, BertNormalizer } from './bert-normalizer.js'
import { tokenizerInfo } from './info.js'
import { LongWords, type MergeModel } from './long-words.js'
import { malformed, type TokenizerPart, tame } from './parts.js'
import { Pieces, WordCache } from './pieces.js'
import { readTables } from './precompiled.js'
import { type Surround, surroundOf } from './surround.js'

type TokenizerModel = NonNullable<HfTokenizer['model']>

/** Characters of a prompt's sections whose ids are kept: the earlier messages of a conversation come again with every turn. */
const CHARACTERS_KEPT = 2 ** 20
/** What an entry weighs beside its characters. */
const ENTRY = 100
/** Words that are longer are merged here: the library does not keep them either. */
const LONG = 256
/** Characters of short words between two pauses. */
const SLICE = 2048
/** Tokens that become a text between two pauses. */
const DECODED = 1024
/** No sign, no part of a character, and no part of a word that goes on. */
const WORD = /^ ?(\p{L}{2,}|[^\P{L}a-zA-Z])$/u
/** Times that what a character is spelled as may be a control token again, and be spelled again. */
const MOST_DEPTH = 8
const NONE = new Uint8Array(0)
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Text to token ids and back to bytes, exactly as the tokenizer.json of a model says. */
export class Tokenizer {
  /** What its configuration says, as servers tell it. */
  readonly info: JsonObject
  /** One more than the highest token id. */
  readonly size: number
  /** Tokens that control the model; they never count as text. */
  readonly special: ReadonlySet<number>
  readonly #hf: HfTokenizer
  readonly #spelling: Spelling
  readonly #added: ReadonlyMap<string, { readonly id: number; readonly special: boolean }>
  readonly #addedPattern: RegExp | undefined
  readonly #sections = new LruMap<string, readonly number[]>(CHARACTERS_KEPT, (text) => text.length + ENTRY)
  readonly #pieces: Pieces
  /** Undefined for models that merge otherwise: those do it at once. */
  readonly #long: LongWords | undefined
  #longest: number | undefined
  #surround: Surround | undefined
  /** Of those that have BERT's: words then never go over a space. */
  readonly #bert: BertNormalizer | undefined
  readonly #bytes: (Uint8Array | undefined)[]
  /** SentencePiece puts a space before a text; the continuation of a text must not get one. */
  readonly #prefixesSpace: boolean

  constructor(tokenizerJson: JsonObject, tokenizerConfig: JsonObject = {}) {
    const filled = {
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      added_tokens: [],
      ...tokenizerJson,
    }
    assertSound(filled)
    this.info = tokenizerInfo(tokenizerConfig)
    this.#hf = new HfTokenizer(filled, tokenizerConfig)
    const { normalizer: normal, pre_tokenizer, decoder } = this.#hf
    const parts = { normalizer: normal, pre_tokenizer, decoder } as Record<string, TokenizerPart | null>
    for (const part of Object.values(parts)) tame(part)
    assertShort(parts)
    this.#spelling = spellingOf(filled)
    this.#prefixesSpace =
      typesIn(filled.normalizer).includes('Prepend') || typesIn(filled.pre_tokenizer).includes('Metaspace')
    const normalizer = filled.normalizer as JsonObject | null
    this.#bert = normalizer?.type === 'BertNormalizer' ? new BertNormalizer(normalizer) : undefined
    readTables(this.#hf.normalizer)
    const unigram = (filled as JsonObject).model as JsonObject | undefined
    const whole = JSON.stringify(filled.pre_tokenizer).includes('"split":false')
    this.#pieces = new Pieces(this.#hf.pre_tokenizer, { parts: unigram?.type === 'Unigram' && !whole })
    const model = this.#hf.model!
    this.#long = isPlainMerging(model) ? new LongWords(model) : undefined
    if ('cache' in model) model.cache = new WordCache()
    const added = new Map<string, { id: number; special: boolean }>()
    for (const [id, token] of this.#hf.get_added_tokens_decoder())
      added.set(token.content, { id, special: token.special })
    this.#added = added
    this.#addedPattern = patternOf([...added.keys()])
    this.special = new Set([...added.values()].filter((token) => token.special).map((token) => token.id))
    let size = 0
    for (const id of model.tokens_to_ids.values()) size = Math.max(size, id + 1)
    this.size = size
    this.#bytes = new Array(size)
  }

  /** Ids of a text in which added tokens (`<|im_start|>`, `<think>`) stand for themselves. Adds nothing around it. */
  encode(text: string): number[] {
    const ids: number[] = []
    this.sections(text).forEach((section, index) => {
      if (typeof section === 'number') ids.push(section)
      else ids.push(...this.encodePlain(section, index))
    })
    return ids
  }

  /** The token that a text of its own begins with, where this tokenizer puts one there. */
  get opening(): number | undefined {
    const around = this.#hf.encode('').ids
    return around.length === 1 ? around[0] : undefined
  }

  /** A text of its own, with that token in front. */
  opened(ids: number[]): number[] {
    const { opening } = this
    return opening === undefined || ids[0] === opening ? ids : [opening, ...ids]
  }

  /** What stands around a text that is read as a whole. */
  get surround(): Surround {
    this.#surround ??= surroundOf(this.#hf)
    return this.#surround
  }

  /** Ids as a text again, as the tokenizer itself writes it. */
  decode(ids: readonly number[]): string {
    return ids.length === 0 ? '' : this.#hf.decode([...ids], { skip_special_tokens: false })
  }

  /**
   * `decode` with pauses. What a token becomes hangs on those beside it (blanks before signs, characters of several
   * tokens), but for those of a word and of the next one: there a text is cut, and anywhere if it has no words.
   */
  *decodeInSlices(ids: readonly number[]): Slices<string> {
    let text = ''
    for (let from = 0; from < ids.length; ) {
      let to = Math.min(ids.length, from + DECODED)
      const last = Math.min(ids.length, from + 2 * DECODED)
      while (to < last && !(this.#isWord(ids[to - 1]!) && this.#isWord(ids[to]!))) to++
      const before = ids.slice(Math.max(0, from - 1), from)
      text += this.decode([...before, ...ids.slice(from, to)]).slice(this.decode(before).length)
      from = to
      if (from < ids.length) yield
    }
    return text
  }

  #isWord(id: number): boolean {
    return WORD.test(this.decode([id]))
  }

  /** The text cut at its added tokens: their ids, and the text between them. */
  sections(text: string): (number | string)[] {
    if (this.#addedPattern === undefined) return text === '' ? [] : [text]
    const parts: (number | string)[] = []
    for (const part of text.split(this.#addedPattern)) {
      if (part !== '') parts.push(this.#added.get(part)?.id ?? part)
    }
    return parts
  }

  /** Ids of a text in which nothing is a control token, whatever it spells. */
  encodePlain(text: string, section = 0): readonly number[] {
    return atOnce(this.encodeInSlices(text, section))
  }

  /** `encodePlain` with pauses. Once there are more than `most`, the rest is left out. */
  *encodeInSlices(text: string, section: number, most = Number.POSITIVE_INFINITY): Slices<readonly number[]> {
    const key = section === 0 ? text : `\u0000${text}`
    const kept = this.#sections.get(key)
    if (kept !== undefined) return kept
    const ids = yield* this.#encode(text, section, most)
    if (ids.length <= most) this.#sections.set(key, ids)
    return ids
  }

  /**
   * Whether a text has more than `count` tokens, told by its bytes alone: no token stands for more than the longest one
   * does. False where that tells nothing, because a tokenizer may leave something out.
   */
  isBeyond(text: string, count: number): boolean {
    this.#longest ??= this.#longestToken()
    // A unit of a string is three bytes at most.
    if (3 * text.length <= count * this.#longest) return false
    return new TextEncoder().encode(this.#normal(text)).length > count * this.#longest
  }

  /** Ids of a text that goes on from an earlier one: no space is put before it. Not kept: hardly any comes twice. */
  encodeContinuation(text: string): readonly number[] {
    if (!this.#prefixesSpace) return atOnce(this.#encode(text, 1))
    return atOnce(this.#idsOf([text.replaceAll(' ', '▁')], Number.POSITIVE_INFINITY))
  }

  /** Ids of a marker that follows a text: its added tokens stand for themselves, and no space is put before it. */
  encodeMarker(text: string): number[] {
    return this.sections(text).flatMap((part) => (typeof part === 'number' ? part : this.encodeContinuation(part)))
  }

  /** The bytes that a token adds to a text; none for control tokens and ids without a token. */
  bytes(id: number): Uint8Array {
    const known = this.#bytes[id]
    if (known !== undefined) return known
    const name = this.#hf.id_to_token(id)
    let bytes: Uint8Array = NONE
    if (name !== undefined && !this.special.has(id)) {
      bytes = this.#added.has(name) ? new TextEncoder().encode(name) : bytesOfToken(name, this.#spelling)
    }
    if (id >= 0 && id < this.size) this.#bytes[id] = bytes
    return bytes
  }

  /** The token's own name, as reports of log probabilities show control tokens. */
  name(id: number): string {
    return this.#hf.id_to_token(id) ?? ''
  }

  /** What reports show for a token: the name of a control token, of all others the text. */
  shown(id: number): string {
    return this.special.has(id) ? this.name(id) : utf8.decode(this.bytes(id))
  }

  idOf(name: string): number | undefined {
    return this.#hf.token_to_id(name)
  }

  /** Every added token's text; `special` ones only, when asked. */
  addedTexts(specialOnly: boolean): string[] {
    return [...this.#added].filter(([, token]) => token.special || !specialOnly).map(([text]) => text)
  }

  #normal(text: string): string {
    if (this.#bert) return this.#bert.normal(text)
    return this.#hf.normalizer === null ? text : this.#hf.normalizer(text)
  }

  /** In bytes, where every byte of a text is in one of its tokens. */
  #longestToken(): number {
    const { tokens_to_ids: vocabulary } = this.#hf.model!
    const spelled = Array.from({ length: 256 }, (_, byte) => byteName(byte)).every((name) => vocabulary.has(name))
    if (this.#spelling !== 'byte-level' || this.#long === undefined || !this.#pieces.keepsAll || !spelled) {
      return Number.POSITIVE_INFINITY
    }
    let longest = 1
    for (const name of vocabulary.keys()) longest = Math.max(longest, name.length)
    return longest
  }

  *#encode(text: string, section: number, most = Number.POSITIVE_INFINITY): Slices<number[]> {
    if (!this.#bert) {
      const normal = this.#normal(text)
      // Else what stands before a text would be all of it.
      return normal === '' ? [] : yield* this.#idsOf(this.#pieces.of(normal, section), most)
    }
    const ids: number[] = []
    for (const piece of atSpaces(text)) {
      const more = yield* this.#idsOf(this.#pieces.of(this.#bert.normal(piece), section), most - ids.length)
      for (const id of more) ids.push(id)
      if (ids.length > most) return ids
      yield
    }
    return ids
  }

  /** Word by word: what a word becomes hangs on nothing else. */
  *#idsOf(words: Iterable<string | undefined>, most: number): Slices<number[]> {
    const model = this.#hf.model!
    const ids: number[] = []
    if (this.#long === undefined) {
      yield* this.#addWords(words, ids, most)
      return ids
    }
    let batch: string[] = []
    let characters = 0
    const flush = () => {
      this.#add(model.encode(batch), ids)
      batch = []
      characters = 0
    }
    for (const word of words) {
      if (word === undefined) {
        yield
        continue
      }
      const whole = word.length > LONG && !(isGreedy(model) && model.tokens_to_ids.has(word))
      if (!whole) {
        batch.push(word)
        characters += word.length
        if (characters < SLICE) continue
      }
      flush()
      if (whole) yield* this.#addLong(yield* this.#long.of(word), ids)
      if (ids.length > most) return ids
      yield
    }
    flush()
    return ids
  }

  /** Of models that do not merge pairs alone. */
  *#addWords(words: Iterable<string | undefined>, ids: number[], most: number): Slices<void> {
    let batch: string[] = []
    let characters = 0
    for (const word of words) {
      if (word === undefined) {
        yield
        continue
      }
      batch.push(word)
      characters += word.length
      if (characters < SLICE) continue
      this.#add(this.#hf.model!(batch), ids)
      batch = []
      characters = 0
      if (ids.length > most) return
      yield
    }
    this.#add(this.#hf.model!(batch), ids)
  }

  *#addLong(names: readonly string[], ids: number[]): Slices<void> {
    const model = this.#hf.model!
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!
      // The library knows what stands for a character that is no token.
      this.#add(model.tokens_to_ids.has(name) ? [name] : model.encode([name]), ids)
      if (i % SLICE === SLICE - 1) yield
    }
  }

  #add(names: readonly string[], ids: number[], depth = 0): void {
    if (depth > MOST_DEPTH) throw malformed('the characters of a control token make that token again.')
    const model = this.#hf.model!
    const unknown = model.unk_token_id
    for (const name of names) {
      const id = model.tokens_to_ids.get(name) ?? unknown
      if (id === undefined) continue
      // A merge that spells a control token must not become one.
      const letters = this.special.has(id) && id !== unknown ? [...name] : []
      if (letters.length > 1) this.#add(model.encode(letters), ids, depth + 1)
      else if (!(model.fuse_unk && id === unknown && ids.at(-1) === unknown)) ids.push(id)
    }
  }
}

/** Byte pairs without marks at the ends of words. */
function isPlainMerging(model: TokenizerModel): model is TokenizerModel & MergeModel {
  const { merges, end_of_word_suffix, continuing_subword_suffix } = model as TokenizerModel & {
    readonly merges?: unknown
    readonly continuing_subword_suffix?: string | null
  }
  return Array.isArray(merges) && !end_of_word_suffix && !continuing_subword_suffix
}

/** A word that is a token as it stands is not taken apart. */
function isGreedy(model: TokenizerModel): boolean {
  return (model as { readonly ignore_merges?: boolean }).ignore_merges === true
}

function patternOf(texts: readonly string[]): RegExp | undefined {
  const longestFirst = texts.filter((text) => text !== '').sort((a, b) => b.length - a.length)
  if (longestFirst.length === 0) return undefined
  return new RegExp(`(${longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|')})`)
}
