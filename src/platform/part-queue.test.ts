import { describe, expect, it, vi } from 'vitest'
import { PartQueue } from './part-queue.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** What a `take` came to, once it has. */
function takeFrom<Part>(queue: PartQueue<Part>) {
  const received: { parts?: readonly Part[] | undefined; error?: unknown; over: boolean } = { over: false }
  queue.take().then(
    (parts) => Object.assign(received, { parts, over: true }),
    (error: unknown) => Object.assign(received, { error, over: true }),
  )
  return received
}

describe('parts on their way to a reader', () => {
  it('come together, in order, and once', async () => {
    const queue = new PartQueue<string>(2, () => {})
    queue.push('a')
    queue.push('b')
    expect(await queue.take()).toEqual(['a', 'b'])
    queue.push('c')
    expect(await queue.take()).toEqual(['c'])
    queue.end()
    expect([await queue.take(), await queue.take()]).toEqual([undefined, undefined])
  })

  it('wake a reader who waits, as the end and an error do', async () => {
    const last = new Error('last')
    for (const [tell, expected] of [
      [(queue: PartQueue<string>) => queue.push('a'), { parts: ['a'], over: true }],
      [(queue: PartQueue<string>) => queue.end(), { parts: undefined, over: true }],
      [(queue: PartQueue<string>) => queue.fail(last), { error: last, over: true }],
    ] as const) {
      const queue = new PartQueue<string>(2, () => {})
      const received = takeFrom(queue)
      await settled()
      expect(received.over).toBe(false)
      tell(queue)
      await settled()
      expect(received).toEqual(expected)
    }
  })

  it('come before the error that followed them, which stays', async () => {
    const queue = new PartQueue<string>(2, () => {})
    queue.push('a')
    queue.fail(new Error('broken'))
    expect(await queue.take()).toEqual(['a'])
    await expect(queue.take()).rejects.toThrow('broken')
    await expect(queue.take()).rejects.toThrow('broken')
  })

  it('end or fail once: the first word counts', async () => {
    const failed = new PartQueue<string>(2, () => {})
    failed.fail(new Error('first'))
    failed.fail(new Error('second'))
    await expect(failed.take()).rejects.toThrow('first')
    const ended = new PartQueue<string>(2, () => {})
    ended.end()
    ended.fail(new Error('late'))
    expect(await ended.take()).toBeUndefined()
  })

  it('end once all who write them have', async () => {
    const queue = new PartQueue<string>(2, () => {}, 2)
    queue.end()
    queue.push('a')
    expect(await queue.take()).toEqual(['a'])
    const received = takeFrom(queue)
    await settled()
    expect(received.over).toBe(false)
    queue.end()
    await settled()
    expect(received).toEqual({ parts: undefined, over: true })
  })

  it('are behind from one more than the limit on, and whoever makes them hears when that is over', async () => {
    const drained = vi.fn()
    const queue = new PartQueue<number>(2, drained)
    const behind = [1, 2, 3].map((part) => {
      queue.push(part)
      return queue.behind
    })
    expect(behind).toEqual([false, false, true])
    drained.mockImplementation(() => expect(queue.behind).toBe(false))
    await queue.take()
    expect([queue.behind, drained.mock.calls.length]).toEqual([false, 1])
    queue.push(4)
    queue.push(5)
    await queue.take()
    expect(drained).toHaveBeenCalledTimes(1)
  })
})
