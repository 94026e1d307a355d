import { describe, expect, it } from 'vitest'
import { ENTRY_BYTES } from '../kept.js'
import { allowed, smallWords, vocabularyOf } from '../testing.test-helper.js'
import { LevelMasks } from './level-masks.js'

const utf8 = new TextEncoder()
const words = smallWords()
const more = ['aé語😀', 'abc"d', 'é"', 'a\\n"', 'a\\nb', '語語語語', 'aaaa"', 'ab\\', 'x語"}'].map((text) =>
  utf8.encode(text),
)
const halves = [utf8.encode('a語').slice(0, 2), utf8.encode('ab😀').slice(0, 5), utf8.encode('語a').slice(1)]
const tokens = [...words.tokens, ...more, ...halves]
const vocabulary = vocabularyOf({ ...words, tokens })
const levels = new LevelMasks(vocabulary)

/** Bytes of UTF-8 that may follow its first, and from where to where the next one. */
const LEADS: readonly [from: number, to: number, more: number, low: number, high: number][] = [
  [0xc2, 0xdf, 1, 0x80, 0xbf],
  [0xe0, 0xe0, 2, 0xa0, 0xbf],
  [0xe1, 0xec, 2, 0x80, 0xbf],
  [0xed, 0xed, 2, 0x80, 0x9f],
  [0xee, 0xef, 2, 0x80, 0xbf],
  [0xf0, 0xf0, 3, 0x90, 0xbf],
  [0xf1, 0xf3, 3, 0x80, 0xbf],
  [0xf4, 0xf4, 3, 0x80, 0x8f],
]

interface Read {
  /** Characters that have begun. */
  readonly characters: number
  /** Whether it ends between two; or what stands behind the quote that closes the string. */
  readonly end: 'between' | 'within' | { readonly rest: string }
}

/** A token between two characters of a string in JSON; undefined where it may not come. */
function readOf(bytes: Uint8Array): Read | undefined {
  let characters = 0
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i++]!
    if (byte === 0x22) return { characters, end: { rest: String.fromCharCode(...bytes.subarray(i)) } }
    if (byte < 0x20) return undefined
    characters++
    if (byte === 0x5c) {
      if (i === bytes.length) return { characters, end: 'within' }
      const escaped = String.fromCharCode(bytes[i++]!)
      if (escaped === 'u') {
        const digits = String.fromCharCode(...bytes.subarray(i, i + 4))
        if (!/^[0-9a-f]*$/i.test(digits)) return undefined
        if (digits.length < 4) return { characters, end: 'within' }
        i += 4
      } else if (!'"\\/bfnrt'.includes(escaped)) return undefined
    } else if (byte >= 0x80) {
      const lead = LEADS.find(([from, to]) => byte >= from && byte <= to)
      if (!lead) return undefined
      const [, , count, low, high] = lead
      for (let k = 0; k < count; k++) {
        if (i === bytes.length) return { characters, end: 'within' }
        const next = bytes[i++]!
        if (k === 0 ? next < low || next > high : (next & 0xc0) !== 0x80) return undefined
      }
    }
  }
  return { characters, end: 'between' }
}

const READ = tokens.flatMap((bytes, token) => {
  const read = bytes?.length && vocabulary.bytes(token).length > 0 ? readOf(bytes) : undefined
  return read ? [{ token, ...read }] : []
})
const those = (which: (read: Read) => boolean) => READ.filter(which).map(({ token }) => token)
const inside = ({ end }: Read) => typeof end === 'string'
const tokensOf = (mask: Uint32Array) => allowed(mask, vocabulary.size)
/** Characters that a token has. */
const LONGEST = 8
const ROOMS = [0, 1, 2, 3, 4, 7, 8, 9, 100, Infinity]

describe('in a string of which only the length matters', () => {
  it('there are tokens of every kind', () => {
    for (const end of ['between', 'within'] as const)
      expect(those((read) => read.end === end).length).toBeGreaterThan(3)
    expect(those((read) => !inside(read)).length).toBeGreaterThan(3)
    expect(Math.max(...READ.map(({ characters }) => characters))).toBe(LONGEST)
  })

  it.each(ROOMS)('those may come that stay in it and have at most so many characters: %d', (room) => {
    const wanted = those((read) => inside(read) && read.characters <= room)
    const mask = levels.mask(room)
    expect(tokensOf(mask)).toEqual(wanted)
    // What is the same is kept as the same: of any more room than the longest takes there is one mask.
    expect(levels.mask(room)).toBe(mask)
    expect(mask === levels.mask(Infinity)).toBe(room >= LONGEST)
  })

  it('those are told apart that end between two characters, and those that end within one', () => {
    expect(tokensOf(levels.between)).toEqual(those(({ end }) => end === 'between'))
    const { within } = levels
    expect([...within.tokens].sort((a, b) => a - b)).toEqual(those(({ end }) => end === 'within'))
    for (const token of within.tokens) {
      const { node, end } = within.find(String.fromCharCode(...vocabulary.bytes(token)))!
      expect([...within.tokens.slice(within.from[node]!, end)]).toContain(token)
    }
  })

  it.each(ROOMS)('those are added after whose characters the budget suffices: %d', (room) => {
    for (const admits of [() => true, () => false, (n: number) => n % 2 === 1, (n: number) => n > 3]) {
      const into = new Uint32Array(vocabulary.words)
      const counts: number[] = []
      levels.addBetween(into, room, (n) => {
        counts.push(n)
        return admits(n)
      })
      expect(tokensOf(into)).toEqual(
        those(({ end, characters }) => end === 'between' && characters <= room && admits(characters)),
      )
      // Each number once, the longest first; there is none of no characters.
      const most = Math.min(room, LONGEST)
      expect(counts).toEqual(Array.from({ length: most }, (_, i) => most - i))
      // What was there stays.
      const full = new Uint32Array(vocabulary.words).fill(0xffffffff)
      levels.addBetween(full, room, admits)
      expect(full.every((word) => word === 0xffffffff)).toBe(true)
    }
  })

  it.each([0, 1, 2, 4, 5, 99])(
    'those close it that have at least %d characters before the quote, and no more than fit',
    (needed) => {
      for (const room of ROOMS) {
        const list = levels.closers(needed, room)
        const wanted = READ.filter(({ end, characters }) => {
          return typeof end !== 'string' && characters >= needed && characters <= room
        })
        const found = list.closers.flatMap(({ frame, trie, nodes, ends }) => {
          expect([frame, nodes, ends]).toEqual([undefined, [0], [trie.tokens.length]])
          return [...trie.tokens]
        })
        expect([...found].sort((a, b) => a - b)).toEqual(wanted.map(({ token }) => token))
        for (const { token, end } of wanted) {
          const { trie } = list.closers[0]!
          const place = trie.find((end as { rest: string }).rest)!
          expect([...trie.tokens.slice(trie.from[place.node]!, place.end)]).toContain(token)
        }
        // What is the same is kept as the same.
        expect(levels.closers(needed, room)).toBe(list)
      }
    },
  )

  it('what is kept is counted', () => {
    const fresh = new LevelMasks(vocabulary)
    const before = fresh.bytes
    // Two masks, what is known of each token, and a place for each that closes the string.
    const [stay, close] = [those(inside).length, those((read) => !inside(read)).length]
    const tokens = 4 * stay + 3 * vocabulary.size + ENTRY_BYTES * close
    expect(before).toBeGreaterThan(2 * 4 * vocabulary.words + tokens + fresh.within.byteLength)
    fresh.mask(2)
    const masked = fresh.bytes
    expect(masked - before).toBeGreaterThanOrEqual(ENTRY_BYTES + 4 * vocabulary.words)
    const { closers } = fresh.closers(0, 3)
    expect(fresh.bytes - masked).toBeGreaterThanOrEqual(ENTRY_BYTES + closers[0]!.trie.byteLength)
    // What is kept already takes nothing.
    const { bytes } = fresh
    fresh.mask(2)
    fresh.closers(0, 3)
    expect(fresh.bytes).toBe(bytes)
  })

  it('there may be nothing at all', () => {
    const none = new LevelMasks(vocabularyOf({ tokens: [undefined], eos: [0], special: [] }))
    expect([none.mask(0), none.mask(Infinity), none.between].map((mask) => allowed(mask, 1))).toEqual([[], [], []])
    expect([none.closers(0, 5).closers, none.within.tokens.length]).toEqual([[], 0])
    const into = new Uint32Array(1)
    none.addBetween(into, 5, () => true)
    expect(into[0]).toBe(0)
  })
})
