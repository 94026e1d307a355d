import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compile, Vocabulary } from '../index.js'
import { allowed, realWords, smallWords, vocabularyOf } from '../testing.test-helper.js'
import { plainLength } from './plain.js'

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
        for (const byte of '["a')
          expect(constraint.accept(each.trie.tokens[each.trie.child(0, byte.charCodeAt(0))]!)).toBe(true)
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

it('plainLength counts the characters of plain string content, and nothing else', () => {
  const encoder = new TextEncoder()
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const plain = text !== '' && JSON.stringify(text) === `"${text}"`
      expect(plainLength(encoder.encode(text))).toBe(plain ? [...text].length : 0)
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
      let text: string | undefined
      try {
        text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      } catch {}
      const plain = text !== undefined && JSON.stringify(text) === `"${text}"`
      expect(plainLength(bytes)).toBe(plain ? [...text!].length : 0)
    }),
  )
})

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
