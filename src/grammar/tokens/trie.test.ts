import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { fillPlain, heightLimit, TALL, Trie, trieOf } from './trie.js'
import { endOf, MALFORMED } from './utf8.js'

const utf8 = (text: string) => String.fromCharCode(...new TextEncoder().encode(text))

/** Texts of one character per byte, as a vocabulary has them: sorted; of the same text the lower token first. */
function built(texts: readonly string[]) {
  const sorted = [...texts].sort()
  const ids = sorted.map((_, i) => 100 + i)
  return { trie: Trie.build(sorted, ids), sorted, ids }
}

const words = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', '"', 'é', 'è', '語', '😀', '😁', ' '), minLength: 1, maxLength: 5 }),
  {
    maxLength: 12,
  },
)
const texts = words.map((all) => all.map(utf8))

/** Those of all texts below, and some of none. */
const BYTES = [
  0,
  0x7f,
  0xff,
  ...new Set(
    utf8('ab"éè語😀😁 c')
      .split('')
      .map((byte) => byte.charCodeAt(0)),
  ),
]

/** Where a character begins. */
const begins = (byte: number) => (byte & 0xc0) !== 0x80

describe('a tree of texts', () => {
  it('leads to the tokens that begin with these bytes, and to none that do not', () => {
    fc.assert(
      fc.property(texts, fc.string({ unit: 'binary', maxLength: 3 }).map(utf8), (all, other) => {
        const { trie, sorted, ids } = built(all)
        const prefixes = new Set(sorted.flatMap((text) => Array.from(text, (_, i) => text.slice(0, i + 1))))
        for (const prefix of [...prefixes, other, '']) {
          const wanted = ids.filter((_, i) => sorted[i]!.startsWith(prefix))
          const found = trie.find(prefix)
          if (prefix !== '' && wanted.length === 0) {
            expect(found).toBeUndefined()
            continue
          }
          expect([...trie.tokens.slice(trie.from[found!.node]!, found!.end)]).toEqual(wanted)
          expect(trie.token(found!.node)).toBe(ids[sorted.indexOf(prefix)] ?? -1)
          const children = BYTES.filter((byte) => trie.child(found!.node, byte) !== 0)
          expect(children).toEqual(BYTES.filter((byte) => prefixes.has(prefix + String.fromCharCode(byte))))
        }
        expect(trie.bytes.length).toBe(prefixes.size + 1)
      }),
      { numRuns: runs(40) },
    )
  })

  it('knows what characters begin below a place, and how many at most', () => {
    fc.assert(
      fc.property(texts, (all) => {
        const { trie, sorted } = built(all)
        for (const text of ['', ...sorted]) {
          for (let length = text === '' ? 0 : 1; length <= text.length; length++) {
            const prefix = text.slice(0, length)
            const below = sorted
              .filter((one) => one.startsWith(prefix))
              .map((one) => Array.from(one, (c) => c.charCodeAt(0)))
            const kinds = below.flatMap((bytes) => bytes.filter((byte, i) => i >= length && begins(byte)))
            const heights = below.map((bytes) => bytes.filter((byte, i) => i >= length - 1 && begins(byte)).length)
            const { node } = trie.find(prefix)!
            expect(trie.kinds[node]).toBe(kinds.reduce((sum, byte) => sum | KIND[byte]!, 0))
            // With its own, where that has just begun.
            expect(trie.heights[node]).toBe(Math.max(0, ...heights))
          }
        }
      }),
    )
  })

  it('takes what is no UTF-8 for special, and goes on behind it', () => {
    // What follows may be a character after all: the first bytes may end one of the token before.
    const { trie } = built([`\x80a`, 'b\xffc', '\xe8\xaa'])
    expect(trie.kinds[trie.find('\x80')!.node]! & KIND[0x61]!).toBe(KIND[0x61])
    expect(trie.kinds[0]! & SPECIAL).toBe(SPECIAL)
    expect(trie.kinds[trie.find('b')!.node]! & SPECIAL).toBe(SPECIAL)
    expect(trie.kinds[trie.find('\xe8')!.node]).toBe(0)
    expect(built(['ab', utf8('語')]).trie.kinds[0]! & SPECIAL).toBe(0)
  })

  it('does not tell apart what is very tall', () => {
    const heights = (length: number) => built(['a'.repeat(length)]).trie.heights[0]
    expect([heights(1), heights(TALL - 1), heights(TALL), heights(TALL + 50)]).toEqual([1, TALL - 1, TALL, TALL])
  })

  it('may hold nothing', () => {
    const { trie } = built([])
    expect([trie.token(0), trie.child(0, 0x61), trie.find('a')]).toEqual([-1, 0, undefined])
    expect(trie.find('')).toEqual({ node: 0, end: 0 })
    expect([trie.kinds[0], trie.heights[0]]).toEqual([0, 0])
  })

  it('takes as many bytes as its lists', () => {
    const { trie } = built(['a', 'ab', 'b'])
    // Four nodes, of which each has a byte, a beginning of its children and of its tokens, kinds and a height.
    expect(trie.byteLength).toBe(4 * (1 + 4 + 4 + 4 + 1) + 4 + 3 * 4)
  })
})

it('a tree of tokens in any order is that of their texts in order; of the same text the first given is the first', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 6 }), (all, step) => {
      const given = [...all, ...all].map((text, i) => ({ text, token: (i * 13 + 7 * step) % 101 }))
      const sorted = given.toSorted((a, b) => Number(a.text > b.text) - Number(a.text < b.text))
      const [mixed, inOrder] = [given, sorted].map((list) => ({
        tokens: list.map(({ token }) => token),
        texts: list.map(({ text }) => text),
      }))
      expect(trieOf(mixed!.tokens, mixed!.texts)).toEqual(Trie.build(inOrder!.texts, inOrder!.tokens))
    }),
  )
})

describe('plain tokens', () => {
  const bytesOf = (text: string) => Uint8Array.from(text, (byte) => byte.charCodeAt(0))
  // Whole characters, some of them cut off or broken by a byte that belongs nowhere.
  const cutTexts = fc
    .array(fc.tuple(words, fc.nat(3), fc.constantFrom('', '\xff', '\x80')), { maxLength: 4 })
    .map((all) =>
      all.flatMap(([list, cut, broken]) => list.map((word) => utf8(word).slice(0, utf8(word).length - cut) + broken)),
    )
    .map((all) => all.filter((text) => text !== ''))
  const kinds = fc.uniqueArray(
    fc.constantFrom(...Array.from('ab"é語😀 ', (letter) => KIND[bytesOf(utf8(letter))[0]!]!)),
  )

  /** Beside the bit of token 1, which was there before. */
  function filled(trie: Trie, leaving: number, room: number): number[] {
    const mask = new Uint32Array(8)
    mask[0] = 2
    fillPlain(mask, trie, leaving, heightLimit(room))
    return Array.from({ length: 256 }, (_, token) => token).filter((token) => (mask[token >> 5]! >>> (token & 31)) & 1)
  }

  it('are those of characters that stay and are not too many, the last of which may be cut off', () => {
    fc.assert(
      fc.property(cutTexts, kinds, fc.constantFrom(0, 1, 2, 3, 5, Infinity), (all, leave, room) => {
        const { trie, sorted, ids } = built(all)
        const leaving = leave.reduce((sum, kind) => sum | kind, SPECIAL)
        const plain = (text: string) => {
          const bytes = bytesOf(text)
          const first = bytes.filter(begins)
          if (endOf(bytes) === MALFORMED || first.length > room) return false
          return first.every((byte) => (KIND[byte]! & leaving) === 0)
        }
        expect(filled(trie, leaving, room)).toEqual([1, ...ids.filter((_, i) => plain(sorted[i]!))])
      }),
      { numRuns: runs(300) },
    )
  })

  it('of more characters than are told apart are so only where any number may come', () => {
    const { trie, ids } = built([1, TALL - 1, TALL, TALL + 45].map((length) => 'a'.repeat(length)))
    const few = (room: number) => filled(trie, SPECIAL, room).slice(1).length
    expect([0, 1, TALL - 2, TALL - 1, TALL, 10_000, Infinity].map(few)).toEqual([0, 1, 1, 2, 2, 2, ids.length])
  })
})
