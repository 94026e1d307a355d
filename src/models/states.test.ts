import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gemma3 } from '../../test/oracles/families/gemma.js'
import { gemma4 } from '../../test/oracles/families/gemma4.js'
import { lfm2 } from '../../test/oracles/families/lfm2.js'
import { qwen35 } from '../../test/oracles/families/qwen3-5.js'
import { runs } from '../../test/support/full.js'
import { NO_STATE } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import { GREEDY, sourceOf } from './architectures/cases.test-helper.js'
import type { Core } from './core.js'
import { loadPlanned } from './load.js'
import { planModel } from './plan-model.js'
import type { PagedSequence } from './sequence.js'
import { StateHistory, StatePool } from './states.js'

describe('states', () => {
  const fall = () => {}

  it('stay at the end of a prompt, one token before, and at ever fewer places further back', () => {
    const pool = new StatePool(64)
    const history = new StateHistory(pool, fall)
    const advance = (tokens: number) => {
      pool.begin([history])
      history.advance(tokens)
    }
    for (let i = 0; i < 32; i++) advance(64)
    for (let i = 0; i < 100; i++) advance(1)
    expect(history.length).toBe(2148)
    // One token is taken back at no cost, a page of them costs less than another page, and the prompt's end is there.
    expect(history.reach(2147)).toBe(2147)
    for (let back = 1; back < 18; back++) expect(history.reach(2148 - back)).toBeGreaterThan(2148 - back - 16)
    expect(history.reach(2048)).toBe(2048)
    for (let at = 64; at < 2048; at++) expect(2148 - history.reach(at)).toBeLessThanOrEqual(3 * (2148 - at) + 64)
    expect(64 - pool.free).toBeLessThan(20)
    history.cut(0)
    expect(pool.free).toBe(64)
  })

  it('of what others write at the same time no slot is read or written', () => {
    const chance = new Chance(5)
    const pool = new StatePool(6)
    const histories = Array.from({ length: 4 }, () => new StateHistory(pool, fall))
    for (let turn = 0; turn < 2000; turn++) {
      const batch = histories.filter(() => chance.below(2) === 0)
      pool.begin(batch)
      const lengths = batch.map(({ length }) => length)
      const read: { from: number; to: number }[] = []
      const written = new Set<number>()
      batch.forEach((history, i) => {
        const tokens = 1 + chance.below(40)
        const back = [1, 2, 3].filter((count) => count < tokens && chance.below(3) === 0)
        const { from, to, each = Int32Array.of(to) } = history.advance(tokens, back)
        expect(each.at(-1)).toBe(to)
        for (const slot of new Set(each)) {
          expect(written.has(slot)).toBe(false)
          written.add(slot)
        }
        if (lengths[i] === 0) expect(from).toBe(NO_STATE)
        read.push({ from, to })
      })
      for (const { from, to } of read) if (from !== to) expect(written.has(from)).toBe(false)
      for (const [i, { from }] of read.entries()) {
        const alone = read.every((other, k) => k === i || other.from !== from)
        if (from !== NO_STATE && !alone) expect(written.has(from)).toBe(false)
      }
      const history = histories[chance.below(4)]!
      if (chance.below(3) === 0) history.cut(chance.below(history.length + 1))
      if (chance.below(5) === 0) {
        history.cut(0)
        history.copyFrom(histories.find((other) => other !== history)!)
      }
    }
    for (const history of histories) history.cut(0)
    expect(pool.free).toBe(6)
  })

  it.each([
    [8, [11, 12, 12, 14]],
    [4, [11, 12, 12, 12]],
    [1, [0, 0, 0, 0]],
  ] as const)('are kept where tokens may be taken back: of %i slots', (slots, reached) => {
    const pool = new StatePool(slots)
    const history = new StateHistory(pool, fall)
    const advance = (tokens: number, back?: readonly number[]) => {
      pool.begin([history])
      return history.advance(tokens, back)
    }
    advance(10)
    const { to, each = [to] } = advance(5, [1, 2, 4])
    if (slots === 8) expect(each).toEqual(Int32Array.of(each[0]!, each[1]!, each[3]!, each[3]!, to))
    expect(new Set(each).size).toBe(Math.min(slots - 1 || 1, 4))
    expect([11, 12, 13, 14].map((length) => history.reach(length))).toEqual(reached)
    expect(history.length).toBe(15)
    history.cut(0)
    expect(pool.free).toBe(slots)
  })

  it('are given up where slots run short: first those of who is writing, then those that nobody used for longest', () => {
    const pool = new StatePool(4)
    const fell: number[] = []
    const make = () => new StateHistory(pool, (length) => fell.push(length))
    const [old, idle, busy] = [make(), make(), make()]
    const advance = (history: StateHistory, tokens: number) => {
      pool.begin([history])
      history.advance(tokens)
    }
    advance(old, 20)
    advance(idle, 30)
    for (let i = 0; i < 5; i++) advance(busy, 1)
    expect([old.length, idle.length, busy.length]).toEqual([20, 30, 5])
    const late = make()
    advance(late, 40)
    // What `busy` kept of its way goes before what anybody stands at.
    expect([old.length, idle.length, busy.length, late.length]).toEqual([20, 30, 5, 40])
    advance(make(), 50)
    expect(fell).toEqual([0])
    expect([old.length, idle.length, busy.length, late.length]).toEqual([0, 30, 5, 40])
  })
})

describe.each([
  { name: 'lfm2', room: 'slots', of: lfm2, size: { slots: 6 } },
  { name: 'lfm2', room: 'many slots', of: lfm2, size: { slots: 40 } },
  { name: 'qwen3_5', room: 'slots', of: qwen35, size: { slots: 6 } },
  { name: 'gemma3', room: 'pages of windows', of: gemma3, size: { window: 32, windowPages: 20 } },
  { name: 'gemma3', room: 'many pages of windows', of: gemma3, size: { window: 32, windowPages: 48 } },
  { name: 'gemma4', room: 'pages of windows', of: gemma4, size: { window: 32, windowPages: 20 } },
])('$name with $room', ({ of, size }) => {
  let core: Core
  const device = openCpuDevice({ threads: 1 })
  beforeAll(async () => {
    const source = sourceOf(of, 'f32')
    const options = { contextLength: 160, cacheTokens: 1600, maxBatch: 4, maxChunk: 48 }
    const plan = planModel(source, await device, options)
    core = await loadPlanned(await device, source, { ...plan, size: { ...plan.size, ...size } })
  })
  afterAll(async () => {
    await core.close()
    expect((await device).memory).toEqual({ bytes: 0, buffers: 0 })
    ;(await device).destroy()
  })

  const chance = new Chance(11)
  const words = (count: number) => Array.from({ length: count }, () => 259 + chance.below(300))
  const answer = async (sequence: ReturnType<Core['open']>, tokens: readonly number[]) => {
    const [sampled] = await core.step([{ sequence, tokens, sample: GREEDY }])
    return sampled
  }
  const fresh = async (tokens: readonly number[]) => {
    const sequence = core.open()
    const sampled = await answer(sequence, tokens)
    sequence.close()
    return sampled
  }

  it('answers as from the beginning, however its sequences were cut, cloned, fed and driven out', async () => {
    const open: { sequence: ReturnType<Core['open']>; tokens: number[] }[] = []
    let compared = 0
    const turns = runs(120)
    for (let turn = 0; turn < turns; turn++) {
      if (open.length < 4 && chance.below(3) === 0) open.push({ sequence: core.open(), tokens: [] })
      for (const each of open) {
        if (chance.below(6) === 0) each.sequence.truncate(chance.below(each.sequence.length + 1))
        each.tokens.length = Math.min(each.tokens.length, Math.max(each.sequence.length, each.tokens.length - 3))
      }
      const source = open[chance.below(Math.max(1, open.length))]
      if (source && open.length < 5 && chance.below(4) === 0) {
        open.push({ sequence: source.sequence.clone(), tokens: [...source.tokens] })
      }
      const batch = open.filter(() => chance.below(2) === 0).slice(0, 3)
      for (const each of batch) {
        if (each.tokens.length > 100) {
          each.sequence.truncate(0)
          each.tokens.length = 0
        }
        each.tokens.push(...words(chance.below(2) === 0 ? 1 : 1 + chance.below(40)))
      }
      if (batch.length === 0) continue
      const results = await core.step(
        batch.map(({ sequence, tokens }) => ({ sequence, tokens: tokens.slice(sequence.length), sample: GREEDY })),
      )
      for (const { sequence, tokens } of batch) expect(sequence.length).toBe(tokens.length)
      for (const [i, { tokens }] of batch.entries()) {
        if (chance.below(4) > 0) continue
        expect(results[i]).toEqual(await fresh(tokens))
        compared++
      }
      if (chance.below(8) === 0) open.splice(chance.below(open.length), 1)[0]!.sequence.close()
    }
    for (const { sequence } of open) sequence.close()
    expect(compared).toBeGreaterThan(turns / 6)
  })

  it('goes on at the last token of a prompt without another look at the rest', async () => {
    const prompt = words(60)
    const sequence = core.open()
    const first = await answer(sequence, prompt)
    const other = sequence.clone() as PagedSequence
    expect(other.reach(59)).toBe(59)
    other.truncate(59)
    expect(await answer(other, prompt.slice(-1))).toEqual(first)
    for (const each of [sequence, other]) each.close()
  })

  it('judges guesses as step by step, and goes on behind those that were right', async () => {
    const prompt = words(30)
    const tokens = [...prompt]
    const alone: NonNullable<Awaited<ReturnType<typeof fresh>>>[] = []
    for (let i = 0; i < 4; i++) {
      alone.push((await fresh(tokens))!)
      tokens.push(alone[i]!.token)
    }
    const [first, second, third] = alone.map(({ token }) => token) as [number, number, number]
    const sequence = core.open()
    await answer(sequence, prompt)
    const guesses = [first, second, third === 300 ? 301 : 300]
    const drafts = [GREEDY, GREEDY]
    const [judged] = await core.step([{ sequence, tokens: guesses, drafts, sample: GREEDY, guessed: true }])
    expect(judged!.drafts!.map(({ token }) => token)).toEqual([second, third])
    const other = sequence.clone()
    other.truncate(prompt.length + 1)
    expect(other.length).toBe(prompt.length + 1)
    expect(await answer(other, [second])).toEqual(alone[2])
    other.close()
    sequence.truncate(prompt.length + 2)
    expect(sequence.length).toBe(prompt.length + 2)
    expect(await answer(sequence, tokens.slice(sequence.length, -1))).toEqual(alone[3])
    sequence.close()
  })

  it('runs ahead as it goes step by step', async () => {
    const prompt = words(30)
    const ahead = core.open()
    const tokens: number[] = []
    for await (const [sampled] of core.run([{ sequence: ahead, tokens: prompt, sample: GREEDY }], 12)) {
      tokens.push(sampled!.token)
      if (tokens.length === 7) break
    }
    // What ran beyond the seventh never happened.
    expect(ahead.length).toBeLessThanOrEqual(36)
    const all = [...prompt, ...tokens]
    expect((await answer(ahead, all.slice(ahead.length)))!.top).toEqual((await fresh(all))!.top)
    ahead.close()
  })
})
