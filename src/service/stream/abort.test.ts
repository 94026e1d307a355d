import { afterEach, describe, expect, it, vi } from 'vitest'
import { Leavable } from './abort.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** All that one `ask` hears. */
function asking<T>(source: Leavable<T>) {
  const heard: unknown[] = []
  source.ask(
    (value) => heard.push(value),
    (reason) => heard.push({ reason }),
  )
  return heard
}

/** A source that does nothing by itself: its `next` and `return` settle when they are told. */
function byHand() {
  const next = withResolvers<IteratorResult<number>>()
  const left = withResolvers<IteratorResult<number>>()
  let returned = 0
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => next.promise,
      return: () => {
        returned++
        return left.promise
      },
    }),
  }
  return { source, next, left, returned: () => returned }
}

function withResolvers<T>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

afterEach(() => void vi.useRealTimers())

describe('a source that can be left', () => {
  it('is read to its end', async () => {
    async function* source() {
      yield 1
      yield 2
    }
    const leavable = new Leavable(source())
    const heard: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const one = asking(leavable)
      await settled()
      heard.push(...one)
    }
    expect(heard).toEqual([1, 2, undefined])
    expect(await leavable.leave()).toBe('ended')
  })

  it('tells what went wrong, however it is told, and is over then', async () => {
    const thrown = new Error('broken')
    for (const next of [
      () => Promise.reject(thrown),
      () => {
        throw thrown
      },
    ]) {
      const back = vi.fn()
      const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next, return: back }) })
      const heard = asking(leavable)
      await settled()
      expect(heard).toEqual([{ reason: thrown }])
      expect(await leavable.leave()).toBe('ended')
      expect(back).not.toHaveBeenCalled()
    }
  })

  it('gives up whoever waits, once, and hears nothing of what comes later', async () => {
    const { source, next, left, returned } = byHand()
    const leavable = new Leavable(source)
    const heard = asking(leavable)
    const leaving = leavable.leave('gone')
    expect(heard).toEqual([{ reason: 'gone' }])
    next.resolve({ done: false, value: 1 })
    left.resolve({ done: true, value: undefined })
    expect(await leaving).toBe('ended')
    await settled()
    expect(heard).toEqual([{ reason: 'gone' }])
    expect(returned()).toBe(1)
  })

  it('hears nothing of an error that comes later either', async () => {
    const { source, next, left } = byHand()
    const leavable = new Leavable(source)
    const heard = asking(leavable)
    const leaving = leavable.leave('gone')
    next.reject(new Error('late'))
    left.reject(new Error('later'))
    expect(await leaving).toBe('ended')
    expect(heard).toEqual([{ reason: 'gone' }])
  })

  it('is left once: the source is asked to return only then', async () => {
    const { source, left, returned } = byHand()
    const leavable = new Leavable(source)
    left.resolve({ done: true, value: undefined })
    await leavable.leave()
    expect(await leavable.leave()).toBe('ended')
    expect(returned()).toBe(1)
  })

  it('needs no way to return', async () => {
    const never = () => new Promise<IteratorResult<number>>(() => {})
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next: never }) })
    expect(await leavable.leave()).toBe('ended')
  })

  it('may throw where it is asked to return: whoever leaves is told nothing of it', async () => {
    const back = () => {
      throw new Error('broken')
    }
    const never = () => new Promise<IteratorResult<number>>(() => {})
    const leavable = new Leavable<number>({ [Symbol.asyncIterator]: () => ({ next: never, return: back }) })
    const heard = asking(leavable)
    expect(await leavable.leave('gone')).toBe('ended')
    expect(heard).toEqual([{ reason: 'gone' }])
  })

  it('that never returns is stuck after five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { source } = byHand()
    let said: string | undefined
    void new Leavable(source).leave().then((word) => {
      said = word
    })
    vi.advanceTimersByTime(4999)
    await settled()
    expect(said).toBeUndefined()
    vi.advanceTimersByTime(1)
    await settled()
    expect(said).toBe('stuck')
  })
})
