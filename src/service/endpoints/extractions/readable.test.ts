import { expect, it } from 'vitest'
import * as readers from '../../../platform/readers/index.js'
import { readableIn } from './extracted.js'

const call = (state: string) =>
  ({ id: 'x', model: 'm', caller: '', fields: [], state, signal: new AbortController().signal }) as const

/** What may be written, and how much was read between two pauses at most. */
function looked(state: string) {
  let [run, most] = [0, 0]
  const readValue: typeof readers.readValue = (...args) => {
    most = Math.max(most, ++run)
    return readers.readValue(...args)
  }
  const work = readableIn('number', call(state), readValue)
  for (;;) {
    run = 0
    const { done, value } = work.next()
    if (done) return { readable: value, most }
  }
}

it('lets others work while a text of numbers alone is read, each of them once', () => {
  const { readable, most } = looked(Array.from({ length: 2000 }, (_, i) => `${i % 1500}.5`).join(' '))
  expect(readable!.size).toBe(1500)
  expect(readable!.get(7.5)).toHaveLength(2)
  expect(most).toBeLessThanOrEqual(8)
})

it('holds a field to none of them where they are too many, or none', () => {
  expect(looked(Array.from({ length: 5000 }, (_, i) => i).join(' ')).readable).toBeUndefined()
  expect(looked('no number at all').readable).toBeUndefined()
})
