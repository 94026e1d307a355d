/** The vocabulary of a GGUF file in the form of transformers' `tokenizer.json`. */

import type { JsonObject } from '../../../../platform/index.js'
import { broken, damaged } from '../../failure.js'
import { aroundVectors, marksOf, unigram, wordPiece } from './encoder-tokenizer.js'
import type { GgufMetadata } from './head.js'
import { PRE_TOKENIZER_BY_NAME } from './words.js'

/** What llama.cpp's `tokenizer.ggml.token_type` says of a token. */
const [UNKNOWN, CONTROL, USER] = [2, 3, 4]

const SPACES = { type: 'Replace', pattern: { String: ' ' }, content: '▁' }
const TO_SPACES = { type: 'Replace', pattern: { String: '▁' }, content: ' ' }
const BYTES = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }

/** Ways to cut words that are Gemma's: mmBERT has its vocabulary. */
const PLAIN: ReadonlySet<unknown> = new Set(['mmbert'])

/** One pattern after the other, and then bytes as GPT-2 spells them. */
function cut(patterns: readonly string[], bytes: boolean): JsonObject {
  const splits = patterns.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }))
  return { type: 'Sequence', pretokenizers: bytes ? [...splits, BYTES] : splits }
}

/** What lists a vocabulary has, and of what. */
const LISTS = {
  tokens: 'string',
  merges: 'string',
  scores: 'number',
  token_type: 'number',
  precompiled_charsmap: 'number',
} as const

function assertLists(place: string, metadata: GgufMetadata): void {
  for (const [name, kind] of Object.entries(LISTS)) {
    const key = `tokenizer.ggml.${name}`
    const list = metadata.get(key)
    if (list === undefined || (Array.isArray(list) && list.every((each) => typeof each === kind))) continue
    throw damaged(place, `its ${key} is not a list of ${kind}s.`)
  }
}

/** `vectors`: of a model that makes some; what stands around a chat is its template's business. */
export function readTokenizer(
  place: string,
  metadata: GgufMetadata,
  vectors = false,
): { tokenizer: JsonObject; tokenizerConfig: JsonObject } {
  const model = metadata.get('tokenizer.ggml.model')
  const tokens = metadata.get('tokenizer.ggml.tokens') as readonly string[] | undefined
  assertLists(place, metadata)
  if (tokens === undefined) throw damaged(place, 'it has no vocabulary (tokenizer.ggml.tokens).')
  const kinds = (metadata.get('tokenizer.ggml.token_type') ?? []) as readonly number[]
  const marks = new Set(model === 'bert' ? Object.values(marksOf(metadata, tokens)) : [])
  const added_tokens = tokens.flatMap((content: string, id) => {
    const special = kinds[id] === CONTROL || kinds[id] === UNKNOWN || marks.has(content)
    if (!special && kinds[id] !== USER) return []
    return [{ id, content, special, normalized: false, lstrip: false, rstrip: false, single_word: false }]
  })
  const rest = { added_tokens, post_processor: vectors ? aroundVectors(metadata, tokens) : null }
  if (model === 'gemma4' || (model === 'gpt2' && PLAIN.has(metadata.get('tokenizer.ggml.pre')))) {
    return { tokenizer: { ...rest, ...plainBpe(place, metadata, tokens, kinds) }, ...config(metadata, tokens) }
  }
  if (model === 'gpt2') return { tokenizer: { ...rest, ...bpe(place, metadata, tokens) }, ...config(metadata, tokens) }
  if (model === 'llama') {
    return { tokenizer: { ...rest, ...sentencePiece(metadata, tokens, kinds) }, ...config(metadata, tokens) }
  }
  if (model === 'bert') return { tokenizer: { ...rest, ...wordPiece(metadata, tokens) }, ...config(metadata, tokens) }
  if (model === 't5')
    return { tokenizer: { ...rest, ...unigram(place, metadata, tokens) }, ...config(metadata, tokens) }
  const known = '"gpt2" and "gemma4" (BPE), "llama" (SentencePiece), "t5" (Unigram) and "bert" (WordPiece)'
  throw broken(place, `its tokenizer "${String(model)}" is not known; ${known} are.`)
}

function bpe(place: string, metadata: GgufMetadata, tokens: readonly string[]): JsonObject {
  const pre = String(metadata.get('tokenizer.ggml.pre') ?? 'default')
  const known = PRE_TOKENIZER_BY_NAME.get(pre)
  if (!known) {
    const names = [...PRE_TOKENIZER_BY_NAME.keys()].join(', ')
    throw broken(place, `its pre-tokenizer (tokenizer.ggml.pre "${pre}") is not known; known are ${names}.`)
  }
  return {
    normalizer: null,
    pre_tokenizer: cut(known.patterns, true),
    decoder: BYTES,
    model: {
      type: 'BPE',
      unk_token: null,
      byte_fallback: false,
      ignore_merges: known.whole ?? false,
      vocab: vocabularyOf(tokens),
      merges: mergesOf(place, metadata),
    },
  }
}

/** Gemma's: merges of plain text, in which a mark stands for a space; what has no token is spelled in bytes. */
function plainBpe(
  place: string,
  metadata: GgufMetadata,
  tokens: readonly string[],
  kinds: readonly number[],
): JsonObject {
  return {
    normalizer: SPACES,
    pre_tokenizer: cut(['[^\\n]+|[\\n]+'], false),
    decoder: { type: 'Sequence', decoders: [TO_SPACES, { type: 'ByteFallback' }, { type: 'Fuse' }] },
    model: {
      type: 'BPE',
      unk_token: unknownOf(metadata, tokens, kinds),
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: vocabularyOf(tokens),
      merges: mergesOf(place, metadata),
    },
  }
}

function mergesOf(place: string, metadata: GgufMetadata): [string, string][] {
  const merges = metadata.get('tokenizer.ggml.merges')
  if (!Array.isArray(merges)) throw damaged(place, 'it has no merges (tokenizer.ggml.merges).')
  return merges.map((pair: string) => splitPair(pair))
}

/** At the first space that is not the first sign: a token may begin with one, never have one within. */
function splitPair(pair: string): [string, string] {
  const at = pair.indexOf(' ', 1)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** Pieces with scores: the pair whose piece scores highest is merged first, which is BPE with merges in that order. */
function sentencePiece(metadata: GgufMetadata, tokens: readonly string[], kinds: readonly number[]): JsonObject {
  const scores = (metadata.get('tokenizer.ggml.scores') ?? []) as readonly number[]
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const order = tokens
    .map((token, id) => ({ token, score: scores[id] ?? 0, id }))
    .filter(({ id }) => (kinds[id] ?? 1) === 1)
    .sort((a, b) => b.score - a.score || a.id - b.id)
  const merges: [string, string][] = []
  for (const { token } of order) {
    // Between signs, of which some are two units long.
    for (let at = signAt(token, 0); at < token.length; at += signAt(token, at)) {
      const [first, second] = [token.slice(0, at), token.slice(at)]
      if (ids.has(first) && ids.has(second)) merges.push([first, second])
    }
  }
  const prefix = metadata.get('tokenizer.ggml.add_space_prefix') !== false
  const normalizers = [...(prefix ? [{ type: 'Prepend', prepend: '▁' }] : []), SPACES]
  return {
    normalizer: { type: 'Sequence', normalizers },
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        TO_SPACES,
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      unk_token: unknownOf(metadata, tokens, kinds),
      fuse_unk: true,
      byte_fallback: true,
      vocab: vocabularyOf(tokens),
      merges,
    },
  }
}

const signAt = (text: string, at: number) => (text.codePointAt(at)! > 0xffff ? 2 : 1)

function unknownOf(metadata: GgufMetadata, tokens: readonly string[], kinds: readonly number[]): string | null {
  const unknown = metadata.get('tokenizer.ggml.unknown_token_id')
  return tokens[typeof unknown === 'number' ? unknown : kinds.indexOf(UNKNOWN)] ?? null
}

/** Of tokens that are written twice the first counts. */
function vocabularyOf(tokens: readonly string[]): Record<string, number> {
  const vocab: Record<string, number> = Object.create(null)
  for (let id = tokens.length - 1; id >= 0; id--) vocab[tokens[id]!] = id
  return vocab
}

function config(metadata: GgufMetadata, tokens: readonly string[]): { tokenizerConfig: JsonObject } {
  const token = (name: string) => {
    const id = metadata.get(`tokenizer.ggml.${name}_token_id`)
    return typeof id === 'number' ? tokens[id] : undefined
  }
  const template = metadata.get('tokenizer.chat_template')
  const withTools = metadata.get('tokenizer.chat_template.tool_use')
  const listed = [
    { name: 'default', template },
    { name: 'tool_use', template: withTools },
  ]
  const entries = {
    bos_token: token('bos'),
    eos_token: token('eos'),
    unk_token: token('unknown'),
    pad_token: token('padding'),
    chat_template: typeof withTools === 'string' ? listed : typeof template === 'string' ? template : undefined,
  }
  return { tokenizerConfig: Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) }
}
