import { Tokenizer as Reference } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { atOnce, type Slices } from '../../platform/turns.js'
import { published } from '../testing/published.test-helper.js'
import { Tokenizer } from './tokenizer.js'

const files = (name: string) => [published(name, 'tokenizer'), published(name, 'tokenizer_config')] as const

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

const filled = { ...sentencepiece, pre_tokenizer: null, post_processor: null }

/** A value for each pause. */
function* slicesOf<T>(work: Slices<T>): Generator<void> {
  while (!work.next().done) yield
}

/** Models whose file has another pattern than the published ones: it is cut by it all the same. */
const withPattern = (Regex: string, more: object = {}) =>
  new Tokenizer({
    ...published('gpt2', 'tokenizer'),
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false, ...more },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
  })

test.each([
  ['(a+)+$', {}],
  ['(?:a|aa)+b', {}],
  ['(?:a|aa)+b', { invert: true }],
  ['(?:a|aa)+b', { behavior: 'Removed' }],
])('a pattern that an engine might go back in without end, %s %o, is run in the time of the text', (Regex, more) => {
  const tokenizer = withPattern(Regex, more)
  const text = `${'a'.repeat(5000)}!`
  const kept = 'invert' in more ? '' : text
  expect(textOf(tokenizer, tokenizer.encodePlain(text))).toBe(kept)
})

test('a pattern that was not published cuts as RegExp would', () => {
  const Regex = "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\d{1,2}|\\s+(?!\\S)|\\s+|\\b."
  const json = published('gpt2', 'tokenizer')
  const pre_tokenizer = {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    ],
  }
  const reference = new Reference({ ...json, pre_tokenizer }, {})
  const tokenizer = withPattern(Regex)
  for (const text of ["It's  123 ünï'T\n\n x", 'a b\tc', '日本語 12345 😀!?']) {
    expect(tokenizer.encode(text)).toEqual(reference.encode(text, { add_special_tokens: false }).ids)
  }
})

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

  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(' ', '\n', 'a', 'ab', 'The', '日本', 'é', '🎉', '0', '--', 'abcdefgh', '\r\n', "'s"),
  )

  test('gives the same ids for words of any length, with as many pauses as it takes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, fc.integer({ min: 1, max: 300 })), { maxLength: 6 }), (parts) => {
        const text = parts.map(([unit, count]) => unit.repeat(count)).join('')
        const expected = text === '' ? [] : reference.encode(text, { add_special_tokens: false }).ids
        expect(atOnce(tokenizer.encodeInSlices(text, 0))).toEqual(expected)
      }),
      { numRuns: 10 },
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, fc.integer({ min: 1, max: 500 })), { maxLength: 5 }), (parts) => {
        // One letter after the other is one word for the tokenizers that divide at other kinds of characters.
        const word = parts.map(([unit, count]) => unit.replace(/[^a-zA-Z]/g, 'x').repeat(count)).join('')
        const expected = word === '' ? [] : reference.encode(word, { add_special_tokens: false }).ids
        expect(tokenizer.encodePlain(word)).toEqual(expected)
      }),
      { numRuns: 10 },
    )
  })

  test('a long text and a long word are divided into slices, and left where there are enough tokens', () => {
    for (const text of ['the quick fox. '.repeat(1500), 'ab'.repeat(8000), ' '.repeat(16_000)]) {
      const slices = [...slicesOf(tokenizer.encodeInSlices(text, 1))]
      expect(slices.length).toBeGreaterThan(5)
      expect(tokenizer.encodePlain(text, 1)).toEqual(reference.encode(text, { add_special_tokens: false }).ids)
    }
    const long = 'the slow fox. '.repeat(1500)
    const work = tokenizer.encodeInSlices(long, 2, 100)
    expect([...slicesOf(work)].length).toBeLessThan(3)
    const whole = reference.encode(long, { add_special_tokens: false }).ids
    expect(tokenizer.encodePlain(long, 2)).toEqual(whole)
  })

  test('tells by its bytes alone that a text is too long, and never of one that is not', () => {
    let longest = 0
    for (let id = 0; id < tokenizer.size; id++) longest = Math.max(longest, tokenizer.bytes(id).length)
    const text = ' '.repeat(longest * 10)
    expect(tokenizer.isBeyond(text, 10)).toBe(false)
    expect(tokenizer.isBeyond(text, 9)).toBe(true)
    expect(tokenizer.isBeyond('日'.repeat(longest * 10), 10)).toBe(true)
    fc.assert(
      fc.property(fc.array(piece), fc.nat(50), (parts, count) => {
        const made = parts.join('')
        if (tokenizer.isBeyond(made, count)) expect(tokenizer.encodePlain(made).length).toBeGreaterThan(count)
      }),
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

  test('a whole text is one word, and is merged as the library does it', () => {
    const reference = new Reference(filled, {})
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'ab', ' ', 'é', '日', '🎉'), { minLength: 1, maxLength: 2000 }),
        (parts) => {
          const text = parts.join('')
          const expected = text === '' ? [] : reference.encode(text, { add_special_tokens: false }).ids
          expect(new Tokenizer(sentencepiece).encodePlain(text)).toEqual(expected)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('says nothing of a text’s tokens by its bytes, for something may be left out', () => {
    expect(tokenizer.isBeyond('a'.repeat(1e6), 1)).toBe(false)
  })

  test('unknown characters in a row are one token where the model says so', () => {
    const { vocab, ...model } = sentencepiece.model
    const known = Object.fromEntries(Object.entries(vocab).filter(([name]) => !name.startsWith('<0x')))
    const fused = { ...sentencepiece, model: { ...model, vocab: known, byte_fallback: false, fuse_unk: true } }
    const reference = new Reference({ ...filled, ...fused }, {})
    for (const text of ['日本a日', '日'.repeat(2000), `${'ab'.repeat(700)}日本${'ab'.repeat(700)}`]) {
      const { ids } = reference.encode(text, { add_special_tokens: false })
      expect(new Tokenizer(fused).encodePlain(text)).toEqual(ids)
    }
  })
})

test('a control token of one character, however it is written, is no text without an end', () => {
  const of = (vocab: Record<string, number>, special: string, more: object = {}) =>
    new Tokenizer({
      model: { type: 'BPE', vocab, merges: [], ...more },
      added_tokens: [{ id: vocab[special]!, content: special, special: true }],
    })
  expect(of({ a: 0, '🤗': 1 }, '🤗').encodePlain('a🤗')).toEqual([0, 1])
  // What stands for a byte of it is spelled by itself.
  const bytes = { '<0x3C>': 0, a: 1 }
  expect(() => of(bytes, '<0x3C>', { byte_fallback: true }).encodePlain('<')).toThrow(/makes? that token again/)
})
