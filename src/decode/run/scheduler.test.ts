import { expect, it } from 'vitest'
import type { Lane } from '../answer/lane.js'
import { GREEDY } from '../answer/sampling.js'
import { RandomModel } from '../testing/random-model.test-helper.js'
import type { Sequence } from '../token-model.js'
import { Scheduler } from './scheduler.js'

const codes = (text: string) => [...text].map((letter) => letter.charCodeAt(0))

it('an answer that replaces tokens while it waits goes on behind those that it has then', async () => {
  /** What the model has read whenever it is asked for a token. */
  const read: string[] = []
  const model = new RandomModel({
    vocabSize: 256,
    before(batch) {
      for (const { sequence, tokens } of batch) {
        read.push(String.fromCharCode(...(sequence as Sequence & { tokens: number[] }).tokens, ...tokens))
      }
    },
  })
  const scheduler = new Scheduler(model, 1)
  let waiting = () => {}
  const waits = new Promise<void>((resolve) => {
    waiting = resolve
  })
  const lane = {
    ...{
      tokens: codes('abc'),
      promptLength: 3,
      kept: 3,
      paused: false as boolean,
      finished: false as boolean,
      foreseeable: false,
    },
    ...{ scores: undefined, remaining: 9, cached() {}, settings: () => GREEDY },
    settle() {
      lane.kept = lane.tokens.length
    },
    take() {
      lane.tokens.push(...codes('xyz'[lane.tokens.length - 3]!))
      lane.paused = lane.tokens.length === 5
      lane.finished = read.length === 3
      if (lane.paused) waiting()
    },
    fail(error: unknown) {
      throw error
    },
  } satisfies Lane
  const slots = scheduler.add([lane])
  await waits
  expect(read).toEqual(['abc', 'abcx'])
  // `x`, which the model has read, becomes another token.
  await new Promise((resolve) => setTimeout(resolve, 1))
  lane.tokens.splice(3, 2, ...codes('Xy'))
  Object.assign(lane, { kept: 3, paused: false })
  scheduler.poke()
  await slots[0]!.released
  expect(read).toEqual(['abc', 'abcx', 'abcXy'])
  await scheduler.stopped()
})
