import { describe, expect, it } from 'vitest'
import type { Sequence } from '../../contract/token-model.js'
import type { Lane } from '../answer/lane.js'
import { RandomModel, type RandomModelOptions } from '../testing/random-model.test-helper.js'
import { Memory, PrefixCache, serves, shared } from './memory.js'
import { makeSlot } from './slot.js'

const PAGE = 16

function setUp(options: Partial<RandomModelOptions> = {}) {
  const model = new RandomModel({ vocabSize: 256, pages: 8, maxBatch: 4, ...options })
  const memory = new Memory(model)
  const tokensOf = (text: string) => [...text].map((letter) => letter.charCodeAt(0))
  const laneOf = (text: string, part: Partial<Lane> = {}) => ({ tokens: tokensOf(text), ...part }) as unknown as Lane
  const written = async (text: string) => {
    const sequence = model.open()
    await model.step([{ sequence, tokens: tokensOf(text) }])
    return sequence
  }
  const running = async (text: string) => {
    const slot = makeSlot(laneOf(text), undefined)
    slot.sequence = await written(text)
    return slot
  }
  const keep = async (text: string) => memory.keep(tokensOf(text), await written(text))
  const textOf = (sequence: Sequence) => String.fromCharCode(...(sequence as Sequence & { tokens: number[] }).tokens)
  return { model, memory, laneOf, written, running, keep, textOf, tokensOf }
}

describe('the cache, to the scheduler', () => {
  it('begins with what is kept of an earlier answer, all but the last token at most', async () => {
    const { memory, laneOf, keep, textOf } = setUp()
    await keep('hello')
    expect(textOf(memory.acquire(laneOf('hello'), []))).toBe('hell')
    await keep('hello')
    expect(textOf(memory.acquire(laneOf('hello there'), []))).toBe('hello')
    expect(textOf(memory.acquire(laneOf('other'), []))).toBe('')
  })

  it('begins with what runs, where that has more, and leaves it as it is', async () => {
    const { memory, model, laneOf, keep, running, textOf } = setUp()
    await keep('hello')
    const [less, more] = [await running('help'), await running('hello th')]
    const idle = makeSlot(laneOf('hello there'), undefined)
    expect(textOf(memory.acquire(laneOf('hello there'), [idle, less, more]))).toBe('hello th')
    expect(textOf(more.sequence!)).toBe('hello th')
    expect(textOf(memory.acquire(laneOf('hello you'), [more, less]))).toBe('hello ')
    // As much is kept: that costs no copy.
    const as = await running('hello')
    const open = model.openSequences
    expect(textOf(memory.acquire(laneOf('hello!'), [as, less]))).toBe('hello')
    expect(model.openSequences).toBe(open)
  })

  it('holds nothing yet of what is to be scored', async () => {
    const { memory, laneOf, keep, textOf } = setUp()
    await keep('hello there')
    const scored = (open: boolean) => laneOf('hello there', { scores: { open, scored: 3 } as never })
    expect(textOf(memory.acquire(scored(true), []))).toBe('hel')
    expect(textOf(memory.acquire(scored(false), []))).toBe('hello ther')
  })

  it('begins what is read in pieces with whole ones, of what is kept or runs', async () => {
    const lengths: number[] = []
    const floor = (length: number) => {
      lengths.push(length)
      return length - (length % 4)
    }
    const pieces = { pieces: { floor } as never }
    const { memory, laneOf, keep, running, textOf } = setUp()
    const begin = (more: Parameters<typeof memory.acquire>[1]) =>
      textOf(memory.acquire(laneOf('hello there', pieces), more))
    expect(begin([])).toBe('')
    await keep('hello t')
    expect(begin([])).toBe('hell')
    expect(begin([await running('hello th')])).toBe('hello th')
    expect(begin([await running('help')])).toBe('hell')
    expect(lengths).toEqual([0, 7, 8, 7])
    const alone = setUp({ maxBatch: 1 })
    alone.memory.acquire(alone.laneOf('hello there', pieces), [await alone.running('hello')])
    expect(lengths.at(-1)).toBe(0)
  })

  it('copies nothing of a model that holds one sequence, and keeps one answer of it', async () => {
    const { memory, model, laneOf, keep, running, textOf } = setUp({ maxBatch: 1 })
    const slot = await running('hello')
    expect(textOf(memory.acquire(laneOf('hello there'), [slot]))).toBe('')
    await keep('one thing')
    await keep('two things')
    const before = model.openSequences
    expect(textOf(memory.acquire(laneOf('one thing more'), []))).toBe('')
    expect(textOf(memory.acquire(laneOf('two rooms'), []))).toBe('two ')
    // What was kept is what is taken: no copy stays behind.
    expect(model.openSequences).toBe(before + 1)
  })

  it('keeps no more of an answer than its sequence holds, and nothing of an empty one', async () => {
    const { memory, model, laneOf, written, keep, textOf, tokensOf } = setUp()
    const sequence = await written('hello')
    sequence.truncate(3)
    memory.keep(tokensOf('hello'), sequence)
    expect(textOf(memory.acquire(laneOf('hello there'), []))).toBe('hel')
    // What holds more is not given up for it.
    await keep('hell')
    const cut = await written('hello')
    cut.truncate(3)
    memory.keep(tokensOf('hello'), cut)
    expect(textOf(memory.acquire(laneOf('hello there'), []))).toBe('hell')
    const open = model.openSequences
    memory.keep([], model.open())
    expect(model.openSequences).toBe(open)
  })

  it('makes room by forgetting, and says when that is not enough', async () => {
    const { memory, model, keep, written } = setUp()
    const running = await written('x'.repeat(3 * PAGE))
    for (const text of ['a', 'b', 'c']) await keep(text.repeat(PAGE))
    expect(model.freePages).toBe(2)
    expect([memory.makeRoom(2 * PAGE), model.freePages]).toEqual([true, 2])
    expect([memory.makeRoom(2 * PAGE + 1), model.freePages]).toEqual([true, 3])
    expect([memory.makeRoom(6 * PAGE), model.freePages]).toEqual([false, 5])
    running.close()
    expect(memory.makeRoom(8 * PAGE)).toBe(true)
  })

  it('makes room for a step, and for more tokens of each row', async () => {
    const { memory, written, keep, laneOf, model } = setUp()
    await keep('kept'.repeat(8))
    const rows = []
    for (const length of [PAGE, PAGE - 1]) {
      const slot = makeSlot(laneOf('x'), undefined)
      slot.sequence = await written('x'.repeat(length))
      rows.push({ slot, count: 1 })
    }
    const free = model.freeTokens
    expect([memory.roomFor(rows as never), model.freeTokens]).toEqual([true, free])
    expect(memory.roomFor(rows as never, 3 * PAGE)).toBe(false)
    expect(model.freeTokens).toBe(free + 2 * PAGE)
  })

  describe('has room for as many steps in a row', () => {
    /** Pages of others that run, pages that are kept, and how many tokens of the next are written. */
    async function steps(others: number, kept: number, begun = 0) {
      const { memory, model, laneOf, written, keep } = setUp({ maxChunk: 8 * PAGE })
      if (others > 0) await written('y'.repeat(others * PAGE))
      if (kept > 0) await keep('z'.repeat(kept * PAGE))
      const slot = makeSlot(laneOf('x'), undefined)
      slot.sequence = await written('x'.repeat(PAGE + begun))
      const free = model.freeTokens
      const rows = [{ slot, count: 1 }] as never
      return (most: number) => [memory.stepsFor(rows, most), (model.freeTokens - free) / PAGE]
    }

    it('as nobody else needs, or by halves fewer', async () => {
      const found = await steps(0, 0)
      expect([found(1), found(5), found(7 * PAGE), found(7 * PAGE + 2)]).toEqual([
        ...[
          [1, 0],
          [5, 0],
          [7 * PAGE, 0],
        ],
        [Math.floor((7 * PAGE + 2) / 2), 0],
      ])
    })

    it('as leaves what is kept where it is, but for a few', async () => {
      const found = await steps(0, 3)
      expect([found(4 * PAGE), found(7 * PAGE)]).toEqual([
        [4 * PAGE, 0],
        [(7 * PAGE) / 2, 0],
      ])
      // The first of them may find what it needs where it is.
      expect((await steps(4, 3))(1)).toEqual([1, 0])
      expect((await steps(4, 3))(3)).toEqual([3, 3])
      expect((await steps(4, 3))(64)).toEqual([4, 3])
    })

    it('as one, where there is none for more', async () => {
      expect((await steps(7, 0))(8)).toEqual([1, 0])
      // A page that is begun is as good as a whole one, and no more.
      const last = PAGE - 4
      expect((await steps(5, 0, last))(4)).toEqual([4, 0])
      expect((await steps(5, 0, last))(64)).toEqual([4, 0])
    })
  })

  it('counts what tokens take in whole pages, the one that is begun as well', async () => {
    const { memory, written } = setUp()
    const costs = async (length: number, more: number) => memory.cost(await written('x'.repeat(length)), more) / PAGE
    expect([memory.cost(undefined, 1), memory.cost(undefined, PAGE), memory.cost(undefined, PAGE + 1)]).toEqual([
      ...[PAGE, PAGE, 2 * PAGE],
    ])
    expect(await costs(PAGE, 1)).toBe(1)
    expect(await costs(PAGE - 1, 1)).toBe(1)
    expect(await costs(PAGE + 1, PAGE)).toBe(2)
    const token = new Memory(Object.assign(new RandomModel({ vocabSize: 8 }), { pageTokens: undefined }) as never)
    expect(token.cost(undefined, 7)).toBe(7)
  })

  it('gives each that may run an equal share, and forgets all when it is told', async () => {
    const { memory, model, keep } = setUp()
    expect(memory.share).toBe((8 * PAGE) / 4)
    await keep('a')
    await keep('b')
    memory.clear()
    expect([model.openSequences, model.freePages]).toEqual([0, 8])
  })
})

/** A model of one page a token would be costly: pages of sixteen, sequences of letters. */
function cacheOf(limit = 4) {
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
    const { cache, put, take, textOf, tokens } = cacheOf()
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
    const { put, take, textOf, cache, tokens } = cacheOf()
    await put('hello')
    expect(cache.longest(tokens('hello'), 4)).toBe(4)
    expect(textOf(take('hello', false))).toBe('hell')
  })

  it('stays for others where it holds more than was asked for, and goes where it does not', async () => {
    const { cache, put, take, textOf, model } = cacheOf()
    await put('hello there')
    const [one, two] = [take('hello you', true), take('hello me', true)]
    expect([textOf(one), textOf(two), cache.size]).toEqual(['hello ', 'hello ', 1])
    const all = take('hello there, you', true)
    expect([textOf(all), cache.size]).toEqual(['hello there', 0])
    for (const sequence of [one!, two!, all!]) sequence.close()
    expect(model.openSequences).toBe(0)
  })

  it('makes superfluous what is the beginning of it, and nothing else', async () => {
    const { cache, put, model, tokens } = cacheOf()
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
    const { cache, put, take, model, textOf } = cacheOf(2)
    await put('a one')
    await put('b two')
    // Shared, and so used.
    take('a other', true)!.close()
    await put('c three')
    expect([cache.size, model.openSequences]).toEqual([2, 2])
    expect([textOf(take('a one!', true)), take('b two!', true)]).toEqual(['a one', undefined])
  })

  it('does not stay for a few words that another text begins with, too', async () => {
    const { put, take, textOf } = cacheOf(2)
    await put('the first of all texts')
    await put('another')
    take('the next one', true)!.close()
    await put('one more')
    expect(take('the first of all texts!', true)).toBe(undefined)
    expect(textOf(take('another!', true))).toBe('another')
  })

  it('is used by who has half of it', async () => {
    const { put, take, textOf } = cacheOf(2)
    await put('12345678')
    await put('another')
    take('1234, you', true)!.close()
    await put('one more')
    expect(textOf(take('12345678!', true))).toBe('12345678')
  })

  it('can be let go of one by one, or all', async () => {
    const { cache, put, model } = cacheOf()
    for (const text of ['a', 'b', 'c']) await put(text)
    expect([cache.evict(), cache.size, model.openSequences]).toEqual([true, 2, 2])
    cache.clear()
    expect([cache.evict(), cache.size, model.openSequences]).toEqual([false, 0, 0])
  })
})

describe('what two have in common', () => {
  it('is nothing where a sequence is not for texts as long', async () => {
    const { tokens, written } = cacheOf()
    const sequence = Object.assign(await written('hello'), { lengths: [3, 5] as const })
    expect([2, 3, 5, 6].map((length) => serves(sequence, length))).toEqual([false, true, true, false])
    const common = (text: string) => shared(sequence, tokens('hello'), tokens(text), 10)
    expect([common('he'), common('help'), common('hello!')]).toEqual([0, 3, 0])
  })

  it('is no more than the sequence still holds, or can be cut to', async () => {
    const { tokens, written } = cacheOf()
    const sequence = await written('hello')
    expect(shared(sequence, tokens('hello'), tokens('help'), 10)).toBe(3)
    sequence.truncate(2)
    expect(shared(sequence, tokens('hello'), tokens('help'), 10)).toBe(2)
    expect(shared(sequence, tokens('hello'), tokens('help'), 1)).toBe(1)
    const even = Object.assign(await written('hello'), { reach: (length: number) => length - (length % 2) })
    expect(shared(even, tokens('hello'), tokens('help'), 10)).toBe(2)
  })
})
