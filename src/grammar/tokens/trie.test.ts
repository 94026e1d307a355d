import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { TALL, Trie } from './trie.js'

const utf8 = (text: string) => String.fromCharCode(...new TextEncoder().encode(text))

/** Texts of one character per byte, as a vocabulary has them: sorted; of the same text the lower token first. */
function built(texts: readonly string[]) {
  const sorted = [...texts].sort()
  const ids = sorted.map((_, i) => 100 + i)
  return { trie: Trie.build(sorted, ids), sorted, ids }
}

const words = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', '"', 'é', '語', '😀', ' '), minLength: 1, maxLength: 5 }),
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
    utf8('ab"é語😀 c')
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
      { numRuns: 40 },
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
