/** The vocabularies of encoders in GGUF files, in the form of transformers' `tokenizer.json`. */

import type { JsonObject } from '../../../../platform/index.js'
import { broken } from '../../failure.js'
import type { GgufMetadata } from './head.js'

/** What stands for a space before a word: here the words of WordPiece that begin one have it, not those that go on. */
const SPACE = '▁'

/** Where files do not name them, they are where BERT has them. */
const USUAL = { cls: 101, seperator: 102, unknown: 100, padding: 0, mask: 103 } as const

export function marksOf(metadata: GgufMetadata, tokens: readonly string[]): Record<keyof typeof USUAL, string> {
  const of = (name: keyof typeof USUAL) => {
    const id = metadata.get(`tokenizer.ggml.${name}_token_id`)
    return tokens[typeof id === 'number' ? id : USUAL[name]] ?? ''
  }
  return {
    cls: of('cls'),
    seperator: of('seperator'),
    unknown: of('unknown'),
    padding: of('padding'),
    mask: of('mask'),
  }
}

export function wordPiece(metadata: GgufMetadata, tokens: readonly string[]): JsonObject {
  const marks = marksOf(metadata, tokens)
  const special = new Set(Object.values(marks))
  const strips = metadata.get('tokenizer.ggml.normalizer.strip_accents')
  const vocab: Record<string, number> = Object.create(null)
  for (let id = tokens.length - 1; id >= 0; id--) {
    const token = tokens[id]!
    if (token.startsWith(SPACE)) vocab[token.slice(1)] = id
    // Older files do not tell what has no text.
    else vocab[special.has(token) || /^\[.+\]$/.test(token) ? token : `##${token}`] = id
  }
  return {
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: typeof strips === 'boolean' ? strips : null,
      keep_first: true,
      lowercase: metadata.get('tokenizer.ggml.normalizer.lowercase') !== false,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: around([marks.cls], [marks.seperator], [marks.seperator], 1, vocab),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: marks.unknown,
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab,
    },
  }
}

/** SentencePiece's other kind: the pieces of a text that are likeliest together. */
export function unigram(place: string, metadata: GgufMetadata, tokens: readonly string[]): JsonObject {
  for (const key of ['add_space_prefix', 'remove_extra_whitespaces']) {
    const value = metadata.get(`tokenizer.ggml.${key}`)
    if (value === true || (value === undefined && key === 'add_space_prefix')) continue
    throw broken(place, `its tokenizer says tokenizer.ggml.${key} = ${String(value)}, and only true can be read.`)
  }
  const scores = (metadata.get('tokenizer.ggml.scores') ?? []) as readonly number[]
  const idOf = (name: string, usual: number) => Number(metadata.get(`tokenizer.ggml.${name}_token_id`) ?? usual)
  const [begin, end] = [tokens[idOf('bos', 0)] ?? '', tokens[idOf('eos', 2)] ?? '']
  const table = metadata.get('tokenizer.ggml.precompiled_charsmap')
  const metaspace = { type: 'Metaspace', replacement: SPACE, prepend_scheme: 'always' }
  const ids = Object.fromEntries([begin, end].map((token) => [token, tokens.indexOf(token)]))
  return {
    normalizer: {
      type: 'Sequence',
      normalizers: [
        ...(Array.isArray(table) && table.length > 0
          ? [{ type: 'Precompiled', precompiled_charsmap: base64(table as number[]), longest: true }]
          : []),
        { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
        { type: 'Replace', pattern: { Regex: '^ | $' }, content: '' },
      ],
    },
    pre_tokenizer: { ...metaspace, split: true },
    post_processor: around([begin], [end], [end, end], 0, ids),
    decoder: metaspace,
    model: {
      type: 'Unigram',
      unk_id: idOf('unknown', 3),
      vocab: tokens.map((token, id) => [token, scores[id] ?? 0]),
      byte_fallback: false,
    },
  }
}

/** What stands around a text, and around and between two; `type`: of the second. */
function around(
  before: readonly string[],
  after: readonly string[],
  between: readonly string[],
  type: number,
  vocab: Readonly<Record<string, number>>,
): JsonObject {
  const marks = (ids: readonly string[], type_id: number) => ids.map((id) => ({ SpecialToken: { id, type_id } }))
  const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } })
  const all = [...new Set([...before, ...after, ...between])]
  return {
    type: 'TemplateProcessing',
    single: [...marks(before, 0), text('A', 0), ...marks(after, 0)],
    pair: [...marks(before, 0), text('A', 0), ...marks(between, 0), text('B', type), ...marks(after, type)],
    special_tokens: Object.fromEntries(all.map((id) => [id, { id, ids: [vocab[id]!], tokens: [id] }])),
  }
}

/** Of byte pairs, by what the file says is added: nothing else tells of it. */
export function aroundVectors(metadata: GgufMetadata, tokens: readonly string[]): JsonObject {
  const mark = (name: string) => {
    const id = metadata.get(`tokenizer.ggml.${name}_token_id`)
    const adds = metadata.get(`tokenizer.ggml.add_${name}_token`) === true && typeof id === 'number'
    return adds && tokens[id] !== undefined ? [tokens[id]] : []
  }
  const [begin, end] = [mark('bos'), mark('eos')]
  const ids = Object.fromEntries([...begin, ...end].map((token) => [token, tokens.indexOf(token)]))
  // RoBERTa's kind has two marks between two texts.
  const between = metadata.get('general.architecture') === 'modern-bert' ? end : [...end, ...end]
  return around(begin, end, between, 0, ids)
}

function base64(bytes: readonly number[]): string {
  let text = ''
  // As they are, or as signed ones.
  for (const byte of bytes) text += String.fromCharCode(byte & 255)
  return btoa(text)
}
