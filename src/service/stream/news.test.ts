import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { News, newsStream } from './news.js'
import { sseEvent } from './sse.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A reader who reads on as soon as there is something, and what it has read. */
function read(news: News<number>) {
  const left = vi.fn()
  const stream = newsStream(news, {
    show: (word) => sseEvent(JSON.stringify({ word })),
    last: (error) => `last ${error ?? 'well'}`,
    left,
  })
  const reader = stream.getReader()
  const texts: string[] = []
  const state = { over: false }
  void (async () => {
    const decoder = new TextDecoder()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      texts.push(decoder.decode(value))
    }
    state.over = true
  })()
  return { texts, state, left, cancel: () => reader.cancel() }
}

const word = (number: number) => `data: {"word":${number}}\n\n`

describe('news', () => {
  it('are told at once when there are some, then no more than ten times a second, the newest alone', async () => {
    const news = new News<number>()
    vi.advanceTimersByTime(1)
    const { texts } = read(news)
    await settled()
    expect(texts).toEqual([])
    news.tell(1)
    await settled()
    expect(texts).toEqual([word(1)])
    for (const number of [2, 3, 4]) news.tell(number)
    vi.advanceTimersByTime(99)
    await settled()
    expect(texts).toEqual([word(1)])
    vi.advanceTimersByTime(1)
    await settled()
    expect(texts).toEqual([word(1), word(4)])
    // Nobody has told anything for longer than that: the next is told at once.
    vi.advanceTimersByTime(500)
    await settled()
    expect(texts).toHaveLength(2)
    news.tell(5)
    await settled()
    expect(texts).toEqual([word(1), word(4), word(5)])
  })

  it('end at once, the newest word before the last event', async () => {
    const news = new News<number>()
    vi.advanceTimersByTime(1)
    const { texts, state } = read(news)
    news.tell(1)
    await settled()
    news.tell(2)
    news.end()
    await settled()
    expect(texts).toEqual([word(1), word(2), 'last well'])
    expect(state.over).toBe(true)
  })

  it('end while nothing was ever told, and say what went wrong', async () => {
    const news = new News<number>()
    const { texts, state } = read(news)
    await settled()
    news.end('badly')
    await settled()
    expect([texts, state.over]).toEqual([['last badly'], true])
  })

  it('that were over before anybody read are told all the same', async () => {
    const news = new News<number>()
    news.tell(7)
    news.end()
    const { texts } = read(news)
    await settled()
    expect(texts).toEqual([word(7), 'last well'])
  })

  it('wait for as long as is left since the last were taken, and not at all after that', async () => {
    const news = new News<number>()
    vi.advanceTimersByTime(1)
    const waits = async (since: number) => {
      news.take()
      news.tell(1)
      vi.advanceTimersByTime(since)
      const waited = vi.fn()
      void news.wait().then(waited)
      await settled()
      if (waited.mock.calls.length > 0) return 0
      let more = 0
      for (; waited.mock.calls.length === 0 && more < 1000; more++) {
        vi.advanceTimersByTime(1)
        await settled()
      }
      return more
    }
    const left: number[] = []
    for (const since of [0, 60, 99, 100, 101]) left.push(await waits(since))
    expect(left).toEqual([100, 40, 1, 0, 0])
  })

  it('may have something before all of them, which is told at once and once', async () => {
    const news = new News<number>()
    const stream = newsStream(news, { first: 'first', show: String, last: () => 'last', left() {} })
    const reader = stream.getReader()
    const next = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await next()).toBe('first')
    news.tell(1)
    news.end()
    expect([await next(), await next(), (await reader.read()).done]).toEqual(['1', 'last', true])
  })

  it('are taken once, and none are there at first', () => {
    const news = new News<number>()
    expect(news.take()).toBeUndefined()
    news.tell(1)
    expect([news.take(), news.take()]).toEqual([1, undefined])
  })

  it('hear of a reader who leaves, while it waits for them', async () => {
    const news = new News<number>()
    const { left, cancel, texts } = read(news)
    await settled()
    await cancel()
    expect(left).toHaveBeenCalledTimes(1)
    news.tell(1)
    await settled()
    expect(texts).toEqual([])
  })
})
