import { expect, it } from 'vitest'
import { halfTheTime } from './half-the-time.js'

/** A piece comes every so often, and all so far is read; in what time, of all? */
function reading(pieces: number, every: number, costs: number) {
  let [clock, length, read, times] = [0, 0, 0, 0]
  const look = halfTheTime(
    () => {
      clock += costs * length
      read += length
      times++
    },
    () => clock,
  )
  for (let i = 0; i < pieces; i++) {
    length++
    clock += every
    look()
  }
  return { read, times }
}

it('takes no part of what comes slowly: each piece is seen at once', () => {
  expect(reading(100, 1000, 1).times).toBe(100)
})

it('takes at most half of the time of what comes fast, however long that is', () => {
  for (const pieces of [1000, 10_000]) {
    const { read, times } = reading(pieces, 1, 1)
    // As long as it took to come, and once more.
    expect(read).toBeLessThanOrEqual(2 * pieces)
    expect(times).toBeGreaterThan(3)
  }
})
