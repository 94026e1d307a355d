import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { beat, Pulse, showPulse } from '../../platform/pulse.js'
import { Watch } from './watch.js'

const STANDS_MS = 1000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A watched thread; `share`: of the time that passes, what processors do for this process; undefined: nobody knows. */
function watched({ share, begun = true }: { share: number | undefined; begun?: boolean }) {
  const pulse = new Pulse()
  showPulse(pulse.memory)
  if (begun) beat()
  const began = Date.now()
  const stood: number[] = []
  const computed = () => (share === undefined ? undefined : (Date.now() - began) * share)
  const watch = new Watch({ pulse, standsMs: STANDS_MS, stands: (_, ms) => stood.push(ms), computed })
  watch.begin()
  return { watch, stood, after: (ms: number) => vi.advanceTimersByTime(ms) }
}

test('a thread that computes without end is ended once it has computed for so long', () => {
  const { stood, after } = watched({ share: 1 })
  after(STANDS_MS - 1)
  expect(stood).toEqual([])
  after(1)
  expect(stood).toEqual([STANDS_MS])
  after(100 * STANDS_MS)
  expect(stood).toHaveLength(1)
})

test('where the machine has no processor for it, it has the time that it lacks', () => {
  const { stood, after } = watched({ share: 1 / 4 })
  after(3.9 * STANDS_MS)
  expect(stood).toEqual([])
  after(0.2 * STANDS_MS)
  expect(stood).toEqual([4 * STANDS_MS])
})

test('who waits for what never comes is ended all the same', () => {
  const { stood, after } = watched({ share: 0 })
  after(2 * STANDS_MS)
  expect(stood).toEqual([])
  after(100 * STANDS_MS)
  expect(stood).toHaveLength(1)
})

test('each sign of life gives it as long again, and time that it had before counts for nothing', () => {
  const { stood, after } = watched({ share: 1 })
  for (let i = 0; i < 10; i++) {
    after(0.9 * STANDS_MS)
    beat()
  }
  expect(stood).toEqual([])
  after(2 * STANDS_MS)
  expect(stood).toEqual([STANDS_MS])
})

test('one that has not begun has longer for it', () => {
  const { stood, after } = watched({ share: 1, begun: false })
  after(3 * STANDS_MS)
  expect(stood).toEqual([])
  after(100 * STANDS_MS)
  expect(stood).toHaveLength(1)
})

test('in a page, where nobody knows what was computed, it is the time alone', () => {
  const { stood, after } = watched({ share: undefined })
  after(STANDS_MS)
  expect(stood).toEqual([STANDS_MS])
})

test('a watch that is over looks no more', () => {
  const { watch, stood, after } = watched({ share: 1 })
  watch.end()
  after(100 * STANDS_MS)
  expect(stood).toEqual([])
})
