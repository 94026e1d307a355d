import { describe, expect, it } from 'vitest'
import type { Sequence } from '../../contract/token-model.js'
import type { Lane } from '../answer/lane.js'
import { RandomModel, type RandomModelOptions } from '../testing/random-model.test-helper.js'
import { Memory } from './memory.js'
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
    const { memory, laneOf, keep, running, textOf } = setUp()
    await keep('hello')
    const [less, more] = [await running('help'), await running('hello th')]
    const idle = makeSlot(laneOf('hello there'), undefined)
    expect(textOf(memory.acquire(laneOf('hello there'), [idle, less, more]))).toBe('hello th')
    expect(textOf(more.sequence!)).toBe('hello th')
    expect(textOf(memory.acquire(laneOf('hello you'), [less, more]))).toBe('hello ')
    // As much is kept: that costs no copy.
    expect(textOf(memory.acquire(laneOf('hello!'), [less]))).toBe('hello')
  })

  it('holds nothing yet of what is to be scored', async () => {
    const { memory, laneOf, keep, textOf } = setUp()
    await keep('hello there')
    const scored = (open: boolean) => laneOf('hello there', { scores: { open, scored: 3 } as never })
    expect(textOf(memory.acquire(scored(true), []))).toBe('hel')
    expect(textOf(memory.acquire(scored(false), []))).toBe('hello ther')
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
    const { memory, model, laneOf, written, textOf, tokensOf } = setUp()
    const sequence = await written('hello')
    sequence.truncate(3)
    memory.keep(tokensOf('hello'), sequence)
    expect(textOf(memory.acquire(laneOf('hello there'), []))).toBe('hel')
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
