import { describe, expect, it } from 'vitest'
import type { Sequence } from '../../contract/token-model.js'
import type { Lane } from '../answer/lane.js'
import { GREEDY } from '../answer/sampling.js'
import { call, collect, setUp } from '../testing/call.test-helper.js'
import { RandomModel, type RandomModelOptions } from '../testing/random-model.test-helper.js'
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

describe('a cache that turns out to grow no further', () => {
  const long = (seed: number, maxTokens: number) =>
    call({ maxTokens, ignoreEnds: true, sampling: { ...call().sampling, seed } })

  it('costs nobody an answer: some begin again once there is room', async () => {
    const calls = [long(1, 120), long(2, 120), long(3, 120)]
    const ask = async (options: Partial<RandomModelOptions>) => {
      const { decoder, model } = setUp({ maxSamples: 4, ...options })
      const told = await Promise.all(calls.map((one) => collect(decoder.generate(one))))
      await decoder.close()
      expect(model.openSequences).toBe(0)
      return { texts: told.map(({ texts }) => texts), missing: model.missing }
    }
    const { texts } = await ask({})
    for (const way of [{}, { follows: true }, { ahead: true }]) {
      // The last third of it is not there.
      const short = await ask({ pages: 30, endsAt: 10, ...way })
      expect(short.texts).toEqual(texts)
      expect(short.missing).toBeGreaterThan(0)
    }
  })

  it('fails what needs more than there is by itself, in words that say so', async () => {
    const { decoder } = setUp({ pages: 30, endsAt: 20 })
    await expect(collect(decoder.generate(long(1, 400)))).rejects.toMatchObject({ status: 503, code: 'out_of_memory' })
    expect((await collect(decoder.generate(long(2, 20)))).usage.completionTokens).toBe(20)
    await decoder.close()
  })
})
