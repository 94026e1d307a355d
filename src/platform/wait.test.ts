import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { atMost, wait } from './wait.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('waiting', () => {
  it('takes as long as it says, and leaves nothing behind', async () => {
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    const over = vi.fn()
    void wait(100, signal).then(over)
    await vi.advanceTimersByTimeAsync(99)
    expect(over).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(over).toHaveBeenCalledTimes(1)
    expect(removed).toHaveBeenCalledWith('abort', expect.any(Function))
  })

  it('ends with the reason of the signal, at once, and no timer is left', async () => {
    const aborter = new AbortController()
    const waiting = wait(1000, aborter.signal)
    aborter.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    expect(vi.getTimerCount()).toBe(0)
    await expect(wait(1000, aborter.signal)).rejects.toThrow('gone')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('work that may take so long', () => {
  it('has ended, or is late', async () => {
    expect(await atMost(10, Promise.resolve())).toBe('ended')
    const late = atMost(10, new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(10)
    expect(await late).toBe('late')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('that fails says so, and no timer is left', async () => {
    await expect(atMost(10, Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(vi.getTimerCount()).toBe(0)
  })
})
