import { expect, test } from 'vitest'
import { sampleRowOf } from './sampling.js'

const settings = {
  temperature: 1,
  topP: 1,
  seed: 1,
  index: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
}
const logitBias = new Map([
  [5, -100],
  [7, 2],
])

test('a bias is laid out once for all steps of its request', () => {
  const { adjust } = sampleRowOf({ ...settings, logitBias }, 0)
  expect(adjust).toEqual({ tokens: Int32Array.of(5, 7), deltas: Float32Array.of(-100, 2) })
  const counts = new Map([[5, 1]])
  expect(sampleRowOf({ ...settings, logitBias, index: 1, counts }, 3).adjust).toBe(adjust)
})

test('what was said is counted on top of a bias', () => {
  const counts = new Map([
    [7, 2],
    [9, 1],
    [11, 0],
  ])
  const { adjust } = sampleRowOf({ ...settings, logitBias, counts, presencePenalty: 1, frequencyPenalty: 0.5 }, 0)
  expect(adjust).toEqual({ tokens: Int32Array.of(5, 7, 9), deltas: Float32Array.of(-100, 0, -1.5) })
  expect(sampleRowOf({ ...settings, logitBias }, 0).adjust!.deltas).toEqual(Float32Array.of(-100, 2))
})

test('without a bias or a penalty nothing is added', () => {
  expect(sampleRowOf({ ...settings, counts: new Map([[5, 1]]) }, 0).adjust).toBeUndefined()
  expect(sampleRowOf({ ...settings, logitBias: new Map() }, 0).adjust).toBeUndefined()
})
