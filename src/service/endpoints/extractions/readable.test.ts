import { describe, expect, it, vi } from 'vitest'
import type { ExtractField } from '../../../contract/index.js'
import * as readers from '../../../platform/readers/index.js'
import { answerOf, readableIn } from './extracted.js'

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

describe('words that stand in many places', () => {
  const state = Array.from({ length: 800 }, (_, i) => `15 of ${i}`).join(' ')
  const places = [...state.matchAll(/15(?= of)/g)].map(({ index }) => ({ start: index, end: index + 2 }))
  const common = { name: 'n', nullThreshold: 0.5 } as const

  function answered(field: ExtractField, times: number) {
    const found = Array.from({ length: times }, () => ({ places }))
    const work = answerOf({ field, call: call(state), found, guess: undefined, pNull: undefined })
    let pauses = 0
    let step = work.next()
    for (; !step.done; step = work.next()) pauses++
    return { answer: step.value, pauses }
  }

  it('let others work while they are read at all of them', () => {
    const { answer, pauses } = answered({ ...common, type: 'number' }, 1)
    expect(answer).toMatchObject({ value: 15 })
    expect(pauses).toBeGreaterThanOrEqual(800 / 8)
  })

  it('are read once where a list says them again and again', () => {
    const field = { ...common, type: 'list', items: 'number' } as const
    const { answer, pauses } = answered(field, 64)
    expect(answer).toMatchObject({ value: Array(64).fill(15) })
    expect(pauses).toBe(answered(field, 1).pauses)
  })
})

it.each([
  ['date', '03/04/2026 '.repeat(1000)],
  ['number', Array.from({ length: 1500 }, (_, i) => `${i} kg of`).join(' ')],
] as const)('looks through a text for how it writes a %s once, however many it has', (kind, text) => {
  const looks = vi.spyOn(String.prototype, 'matchAll')
  try {
    for (const _ of readableIn(kind, call(text)));
    // How it is cut into parts is looked for in each of them; how it writes would be, for each of a thousand in each language.
    const whole = looks.mock.contexts.filter((one) => String(one).length > 10_000)
    expect(whole.length).toBeLessThan(200)
  } finally {
    looks.mockRestore()
  }
})
