import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SteadyReader } from './steady.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A body of which a piece comes each time that it is given on; says whether it was left. */
function bodyByHand() {
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const seen = { left: false }
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel() {
      seen.left = true
    },
  })
  return {
    body,
    seen,
    give: (bytes: number) => controller.enqueue(new Uint8Array(bytes)),
    end: () => controller.close(),
  }
}

describe('a body that is read', () => {
  it('may take a minute, as long as bytes come', async () => {
    const { body, give, end } = bodyByHand()
    const reader = new SteadyReader(body)
    for (let second = 0; second < 60; second++) {
      const piece = reader.read()
      await vi.advanceTimersByTimeAsync(1000)
      give(2048)
      expect((await piece).value).toHaveLength(2048)
    }
    end()
    expect((await reader.read()).done).toBe(true)
    reader.leave()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is left where it stops', async () => {
    const { body, seen } = bodyByHand()
    const reader = new SteadyReader(body)
    const piece = expect(reader.read()).rejects.toThrow('too few bytes')
    await vi.advanceTimersByTimeAsync(29_000)
    expect(seen.left).toBe(false)
    await vi.advanceTimersByTimeAsync(6000)
    await piece
    expect(seen.left).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is left where it drips', async () => {
    const { body, seen, give } = bodyByHand()
    const reader = new SteadyReader(body)
    let came = 0
    const reading = (async () => {
      for (;;) {
        await reader.read()
        came++
      }
    })()
    const failed = expect(reading).rejects.toThrow('too few bytes')
    for (let i = 0; i < 400 && !seen.left; i++) {
      give(1)
      await vi.advanceTimersByTimeAsync(100)
    }
    await failed
    expect(came).toBeGreaterThan(290)
    expect(seen.left).toBe(true)
  })

  it('may wait for whoever reads it', async () => {
    const { body, give } = bodyByHand()
    const reader = new SteadyReader(body)
    give(1)
    await reader.read()
    await vi.advanceTimersByTimeAsync(600_000)
    give(1)
    expect((await reader.read()).value).toHaveLength(1)
    reader.leave()
  })
})
