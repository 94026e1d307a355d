import { describe, expect, it } from 'vitest'
import type { Sequence } from '../../contract/token-model.js'
import { RandomModel } from '../testing/random-model.test-helper.js'
import { PrefixCache, shared } from './prefix-cache.js'

/** A model of one page a token would be costly: pages of sixteen, sequences of letters. */
function setUp(limit = 4) {
  const model = new RandomModel({ vocabSize: 128 })
  const cache = new PrefixCache(limit)
  const tokens = (text: string) => [...text].map((letter) => letter.charCodeAt(0))
  const written = async (text: string) => {
    const sequence = model.open()
    await model.step([{ sequence, tokens: tokens(text) }])
    return sequence
  }
  const put = async (text: string) => cache.put(tokens(text), await written(text))
  const textOf = (sequence: Sequence | undefined) =>
    sequence && String.fromCharCode(...(sequence as Sequence & { tokens: number[] }).tokens)
  const take = (text: string, share: boolean, limit = text.length - 1) => cache.take(tokens(text), limit, share)
  return { model, cache, tokens, written, put, take, textOf }
}

describe('what is kept of earlier answers', () => {
  it('is found by the longest beginning that it shares, and cut to it', async () => {
    const { cache, put, take, textOf, tokens } = setUp()
    await put('the cat')
    await put('the quick fox')
    await put('a dog')
    expect(cache.longest(tokens('the quiet'), 8)).toBe(7)
    expect(textOf(take('the quiet', false))).toBe('the qui')
    expect(cache.size).toBe(2)
    expect(textOf(take('the quiet', false))).toBe('the ')
    expect([take('the quiet', false), cache.longest(tokens('the quiet'), 8)]).toEqual([undefined, 0])
    expect(cache.size).toBe(1)
  })

  it('leaves at least what the limit says to be fed', async () => {
    const { put, take, textOf, cache, tokens } = setUp()
    await put('hello')
    expect(cache.longest(tokens('hello'), 4)).toBe(4)
    expect(textOf(take('hello', false))).toBe('hell')
  })

  it('stays for others where it holds more than was asked for, and goes where it does not', async () => {
    const { cache, put, take, textOf, model } = setUp()
    await put('hello there')
    const [one, two] = [take('hello you', true), take('hello me', true)]
    expect([textOf(one), textOf(two), cache.size]).toEqual(['hello ', 'hello ', 1])
    const all = take('hello there, you', true)
    expect([textOf(all), cache.size]).toEqual(['hello there', 0])
    for (const sequence of [one!, two!, all!]) sequence.close()
    expect(model.openSequences).toBe(0)
  })

  it('makes superfluous what is the beginning of it, and nothing else', async () => {
    const { cache, put, model, tokens } = setUp()
    for (const text of ['he', 'hello', 'help']) await put(text)
    expect([cache.size, model.openSequences]).toEqual([2, 2])
    await put('hello there')
    expect([cache.size, model.openSequences]).toEqual([2, 2])
    // A shorter one beside it is kept: it may have been used last.
    await put('hello')
    expect(cache.size).toBe(3)
    expect(cache.longest(tokens('hello there!'), 12)).toBe(11)
  })

  it('is so many at most; what was not used longest goes first, and is closed', async () => {
    const { cache, put, take, model, textOf } = setUp(2)
    await put('a one')
    await put('b two')
    // Shared, and so used.
    take('a other', true)!.close()
    await put('c three')
    expect([cache.size, model.openSequences]).toEqual([2, 2])
    expect([textOf(take('a one!', true)), take('b two!', true)]).toEqual(['a one', undefined])
  })

  it('does not stay for a few words that another text begins with, too', async () => {
    const { put, take, textOf } = setUp(2)
    await put('the first of all texts')
    await put('another')
    take('the next one', true)!.close()
    await put('one more')
    expect(take('the first of all texts!', true)).toBe(undefined)
    expect(textOf(take('another!', true))).toBe('another')
  })

  it('can be let go of one by one, or all', async () => {
    const { cache, put, model } = setUp()
    for (const text of ['a', 'b', 'c']) await put(text)
    expect([cache.evict(), cache.size, model.openSequences]).toEqual([true, 2, 2])
    cache.clear()
    expect([cache.evict(), cache.size, model.openSequences]).toEqual([false, 0, 0])
  })
})

describe('what two have in common', () => {
  it('is no more than the sequence still holds, or can be cut to', async () => {
    const { tokens, written } = setUp()
    const sequence = await written('hello')
    expect(shared(sequence, tokens('hello'), tokens('help'), 10)).toBe(3)
    sequence.truncate(2)
    expect(shared(sequence, tokens('hello'), tokens('help'), 10)).toBe(2)
    expect(shared(sequence, tokens('hello'), tokens('help'), 1)).toBe(1)
    const even = Object.assign(await written('hello'), { reach: (length: number) => length - (length % 2) })
    expect(shared(even, tokens('hello'), tokens('help'), 10)).toBe(2)
  })
})
