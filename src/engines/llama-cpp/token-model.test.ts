import { describe, expect, it } from 'vitest'
import type { SampleSettings, Sequence, StepInput } from '../../contract/token-model.js'
import { sampleRow } from '../../device/sampling.js'
import { randomness } from '../../grammar/testing.test-helper.js'
import { sampleRowOf } from '../../models/sampling.js'
import { logitsAfter, type Seen, type StandInOptions, standInSequence } from './stand-in.test-helper.js'
import { LlamaCppModel } from './token-model.js'

const CONTEXT = 60
const settings: SampleSettings = { temperature: 1, topP: 1, seed: 7, index: 0, presencePenalty: 0, frequencyPenalty: 0 }

function modelOf(places: number, options: Partial<StandInOptions> = {}) {
  const seen: Seen = { read: 0, copies: 0 }
  const whole = { tokens: 50, contextSize: CONTEXT + 1, seen, ...options }
  const natives = Array.from({ length: places }, () => standInSequence(whole))
  let released = 0
  const model = new LlamaCppModel({
    natives,
    tokens: whole.tokens,
    contextLength: CONTEXT,
    maxBatch: places,
    maxChunk: 16,
    fingerprint: 'fp_stand_in',
    release: async () => void released++,
  })
  const drawn = (before: readonly number[], how: SampleSettings) =>
    sampleRow(
      logitsAfter(before, whole.tokens, options.width),
      whole.tokens,
      sampleRowOf(how, 0),
      new Float32Array(whole.tokens),
    )
  return { model, seen, drawn, released: () => released }
}

const WAYS: readonly [string, Partial<StandInOptions>][] = [
  ['with copies', {}],
  ['without copies', { copies: false }],
  ['that goes back to few places', { needsCheckpoints: true }],
]

describe('sequences in the places of a context', () => {
  // Whatever is opened, copied, cut, displaced and closed: what is drawn is what the tokens before it give.
  it.each(WAYS)('draw from their own tokens, whatever became of others: %s', async (_, options) => {
    const random = randomness(23)
    const pick = (count: number) => Math.floor(random() * count)
    for (let round = 0; round < 30; round++) {
      const places = 1 + pick(4)
      const { model, drawn } = modelOf(places, options)
      let live: { sequence: Sequence; tokens: number[] }[] = []
      for (let turn = 0; turn < 40; turn++) {
        const what = pick(6)
        const one = live[pick(live.length)]
        if (what === 0 || !one) live.push({ sequence: model.open(), tokens: [] })
        else if (what === 1) {
          const sequence = one.sequence.clone()
          live.push({ sequence, tokens: one.tokens.slice(0, sequence.length) })
        } else if (what === 2) {
          const to = pick(one.sequence.length + 1)
          const reach = one.sequence.reach?.(to)
          one.sequence.truncate(to)
          expect(one.sequence.length).toBe(reach)
          expect(one.sequence.length).toBeLessThanOrEqual(to)
        } else if (what === 3) {
          one.sequence.close()
          live = live.filter((other) => other !== one)
        } else {
          const chosen = live.sort(() => random() - 0.5).slice(0, 1 + pick(places))
          const inputs = chosen.flatMap(({ sequence, tokens }) => {
            tokens.length = Math.min(tokens.length, sequence.length)
            const room = Math.min(5, CONTEXT - sequence.length)
            return room > 0 ? [{ sequence, tokens: Array.from({ length: 1 + pick(room) }, () => pick(50)) }] : []
          })
          const results = await model.step(inputs.map((input): StepInput => ({ ...input, sample: settings })))
          for (const [i, { sequence, tokens }] of inputs.entries()) {
            const mine = live.find((other) => other.sequence === sequence)!
            mine.tokens.push(...tokens)
            expect(sequence.length).toBe(mine.tokens.length)
            expect(results[i]).toEqual(drawn(mine.tokens, settings))
          }
        }
        for (const each of live) {
          expect(each.sequence.length).toBeLessThanOrEqual(each.tokens.length)
          each.tokens.length = each.sequence.length
        }
        expect(model.freeTokens).toBeGreaterThanOrEqual(0)
      }
      for (const { sequence } of live) sequence.close()
      expect(model.freeTokens).toBe(places * CONTEXT)
    }
  })

  it('share what they have read', async () => {
    const { model, seen } = modelOf(3)
    const first = model.open()
    await model.step([{ sequence: first, tokens: [1, 2, 3, 4, 5] }])
    const second = first.clone()
    const third = first.clone()
    third.truncate(3)
    await model.step([
      { sequence: first, tokens: [6] },
      { sequence: second, tokens: [7] },
      { sequence: third, tokens: [8] },
    ])
    expect(seen).toEqual({ read: 8, copies: 2 })
    expect([first, second, third].map(({ length }) => length)).toEqual([6, 6, 4])
  })

  it('take over what nobody else has any more, without a copy', async () => {
    const { model, seen } = modelOf(2)
    const first = model.open()
    await model.step([{ sequence: first, tokens: [1, 2, 3] }])
    const second = first.clone()
    first.close()
    await model.step([{ sequence: second, tokens: [4] }])
    expect(seen).toEqual({ read: 4, copies: 0 })
  })

  it('lose their place to others, the one that was not stepped for longest first', async () => {
    const { model } = modelOf(2)
    const [a, b, c] = [model.open(), model.open(), model.open()]
    await model.step([{ sequence: a, tokens: [1] }])
    await model.step([{ sequence: b, tokens: [2] }])
    await model.step([{ sequence: c, tokens: [3] }])
    expect([a, b, c].map(({ length }) => length)).toEqual([0, 1, 1])
  })
})

describe('guesses', () => {
  it('are drawn at each position, in the order of the positions', async () => {
    const { model, drawn } = modelOf(1)
    const sequence = model.open()
    const at = (index: number) => ({ ...settings, index })
    const [sampled] = await model.step([{ sequence, tokens: [1, 2, 3, 4], sample: at(3), drafts: [at(1), undefined] }])
    expect(sampled).toEqual({ ...drawn([1, 2, 3, 4], at(3)), drafts: [drawn([1, 2], at(1))] })
  })
})

describe('a large vocabulary', () => {
  it('is read in part, and where that does not decide, wholly', async () => {
    const tokens = 40_000
    // So flat that anything may be drawn.
    const { model, seen, drawn } = modelOf(1, { tokens, width: 0.05 })
    const sequence = model.open()
    await model.step([{ sequence, tokens: [5, 6, 7] }])
    const before = seen.read
    const context: number[] = [5, 6, 7]
    for (let index = 0; index < 12; index++) {
      const how = { ...settings, index, temperature: index % 2 }
      const next = [index, index + 1]
      const guess = { ...how, seed: 99 }
      const [sampled] = await model.step([{ sequence, tokens: next, sample: how, drafts: [guess] }])
      context.push(index)
      const first = drawn(context, guess)
      context.push(index + 1)
      expect(sampled).toEqual({ ...drawn(context, how), drafts: [first] })
      expect(sequence.length).toBe(context.length)
    }
    expect(seen.read - before).toBeGreaterThan(24)
  })
})

describe('what may not be', () => {
  it('is refused before anything is read', async () => {
    const { model, seen } = modelOf(2)
    const [a, b, c] = [model.open(), model.open(), model.open()]
    const closed = model.open()
    closed.close()
    const one = (input: Partial<StepInput>) => model.step([{ sequence: a, tokens: [1], ...input }])
    await expect(one({ tokens: [] })).rejects.toThrow(/at least one token/)
    await expect(one({ tokens: [50] })).rejects.toThrow(/no token 50/)
    await expect(one({ tokens: [-1] })).rejects.toThrow(/no token -1/)
    await expect(one({ sequence: closed })).rejects.toThrow(/closed/)
    await expect(one({ sequence: modelOf(1).model.open(), tokens: [50] })).rejects.toThrow()
    await expect(one({ drafts: [settings] })).rejects.toThrow(/[Dd]rafts/)
    await expect(one({ tokens: new Array(CONTEXT + 1).fill(1) })).rejects.toMatchObject({
      code: 'context_length_exceeded',
    })
    const twice = { sequence: a, tokens: [1] }
    await expect(model.step([twice, twice])).rejects.toThrow(/twice/)
    await expect(model.step([a, b, c].map((sequence) => ({ sequence, tokens: [1] })))).rejects.toThrow(/at most 2/)
    expect(seen.read).toBe(0)
    await one({ tokens: new Array(CONTEXT).fill(1) })
    expect(a.length).toBe(CONTEXT)
  })

  it('is whatever comes after its end', async () => {
    const { model, released } = modelOf(1)
    const sequence = model.open()
    await model.close()
    await model.close()
    expect(released()).toBe(1)
    await expect(model.step([{ sequence, tokens: [1] }])).rejects.toThrow(/closed/)
    expect(() => model.open()).toThrow(/closed/)
  })
})
