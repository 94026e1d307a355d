import { describe, expect, it } from 'vitest'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { compile, Vocabulary } from '../index.js'
import { allowed, randomness, realWords, smallWords, vocabularyOf, type Words } from '../testing.test-helper.js'

describe('a vocabulary', () => {
  it('comes back whole from its serialised form, from any place in a buffer', () => {
    const words = realWords('gpt2')
    const vocabulary = vocabularyOf(words)
    const data = vocabulary.serialize()
    const shifted = new Uint8Array(data.length + 1)
    shifted.set(data, 1)
    for (const copy of [Vocabulary.deserialize(data), Vocabulary.deserialize(shifted.subarray(1))]) {
      expect(copy.size).toBe(vocabulary.size)
      expect(copy.eos).toEqual(vocabulary.eos)
      const [a, b] = [vocabulary, copy].map((each) => {
        const constraint = compile({ type: 'array', items: { type: 'string', maxLength: 9 } }).start(each)
        for (const byte of '["a') expect(constraint.accept(idOf(words, byte))).toBe(true)
        const mask = new Uint32Array(each.words)
        constraint.mask(mask)
        return mask
      })
      expect(b).toEqual(a)
    }
  })

  it('refuses what it did not write', () => {
    const data = vocabularyOf(smallWords()).serialize()
    expect(() => Vocabulary.deserialize(data.subarray(0, data.length >> 1))).toThrow()
    expect(() => Vocabulary.deserialize(new Uint8Array(100))).toThrow()
  })

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

  it('counts the shortest document in tokens', () => {
    const vocabulary = vocabularyOf(smallWords())
    const encoded = (schema: unknown) => compile(schema).start(vocabulary).shortest
    expect(encoded({ const: 'name' })).toBe(2)
    expect(encoded({ type: 'object' })).toBe(1)
    expect(encoded({ type: 'boolean' })).toBe(1)
    expect(encoded({ type: 'array', minItems: 1, items: { type: 'object', maxProperties: 0 } })).toBeLessThanOrEqual(3)
  })
})

/** The token that is this one letter. */
function idOf({ tokens }: Words, letter: string): number {
  return tokens.findIndex((bytes) => bytes?.length === 1 && bytes[0] === letter.charCodeAt(0))
}
