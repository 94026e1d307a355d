import { Tokenizer as HfTokenizer } from '@huggingface/tokenizers'
import { LruMap } from './lru-map.js'
import { bytesOfToken, type Spelling, spellingOf, typesIn } from './token-bytes.js'

type Json = Readonly<Record<string, unknown>>

/** Sections of a prompt whose ids are kept: the earlier messages of a conversation come again with every turn. */
const SECTIONS_KEPT = 256
const NONE = new Uint8Array(0)

/** Text to token ids and back to bytes, exactly as the tokenizer.json of a model says. */
export class Tokenizer {
  /** One more than the highest token id. */
  readonly size: number
  /** Tokens that control the model; they never count as text. */
  readonly special: ReadonlySet<number>
  readonly #hf: HfTokenizer
  readonly #spelling: Spelling
  readonly #added: ReadonlyMap<string, { readonly id: number; readonly special: boolean }>
  readonly #addedPattern: RegExp | undefined
  readonly #sections = new LruMap<string, readonly number[]>(SECTIONS_KEPT)
  readonly #bytes: (Uint8Array | undefined)[]
  /** SentencePiece puts a space before a text; the continuation of a text must not get one. */
  readonly #prefixesSpace: boolean

  constructor(tokenizerJson: Json, tokenizerConfig: Json = {}) {
    const filled = {
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      added_tokens: [],
      ...tokenizerJson,
    }
    this.#hf = new HfTokenizer(filled, tokenizerConfig)
    this.#spelling = spellingOf(filled)
    this.#prefixesSpace =
      typesIn(filled.normalizer).includes('Prepend') || typesIn(filled.pre_tokenizer).includes('Metaspace')
    const added = new Map<string, { id: number; special: boolean }>()
    for (const [id, token] of this.#hf.get_added_tokens_decoder())
      added.set(token.content, { id, special: token.special })
    this.#added = added
    this.#addedPattern = patternOf([...added.keys()])
    this.special = new Set([...added.values()].filter((token) => token.special).map((token) => token.id))
    let size = 0
    for (const id of this.#hf.model!.tokens_to_ids.values()) size = Math.max(size, id + 1)
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
    const key = section === 0 ? text : `\u0000${text}`
    let ids = this.#sections.get(key)
    if (ids === undefined) {
      ids = this.#encode(text, section)
      this.#sections.set(key, ids)
    }
    return ids
  }

  /** Ids of a text that goes on from an earlier one: no space is put before it. Not kept: hardly any comes twice. */
  encodeContinuation(text: string): readonly number[] {
    return this.#prefixesSpace ? this.#idsOf([text.replaceAll(' ', '▁')]) : this.#encode(text, 1)
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

  idOf(name: string): number | undefined {
    return this.#hf.token_to_id(name)
  }

  /** Every added token's text; `special` ones only, when asked. */
  addedTexts(specialOnly: boolean): string[] {
    return [...this.#added].filter(([, token]) => token.special || !specialOnly).map(([text]) => text)
  }

  #encode(text: string, section: number): number[] {
    const normal = this.#hf.normalizer === null ? text : this.#hf.normalizer(text)
    const words =
      this.#hf.pre_tokenizer === null ? [normal] : this.#hf.pre_tokenizer(normal, { section_index: section })
    return this.#idsOf(words)
  }

  #idsOf(words: string[]): number[] {
    const model = this.#hf.model!
    const ids: number[] = []
    for (const name of model(words)) {
      const id = model.tokens_to_ids.get(name) ?? model.unk_token_id
      if (id === undefined) continue
      // A merge that spells a control token must not become one.
      if (this.special.has(id) && name.length > 1 && id !== model.unk_token_id) ids.push(...this.#idsOf([...name]))
      else ids.push(id)
    }
    return ids
  }
}

function patternOf(texts: readonly string[]): RegExp | undefined {
  const longestFirst = texts.filter((text) => text !== '').sort((a, b) => b.length - a.length)
  if (longestFirst.length === 0) return undefined
  return new RegExp(`(${longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|')})`)
}
