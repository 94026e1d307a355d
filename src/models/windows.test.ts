import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gemma3 } from '../../test/oracles/families/gemma.js'
import { gemma4 } from '../../test/oracles/families/gemma4.js'
import { type Device, PAGE } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import { GREEDY, sourceOf } from './architectures/cases.test-helper.js'
import { loadCore } from './load.js'
import { GONE } from './pages.js'
import { planModel } from './plan-model.js'
import { WindowList, WindowPool } from './windows.js'

const WINDOW = 40

describe('pages of windows', () => {
  /** All that a token at `position` sees but itself. */
  const sees = (list: WindowList, position: number) => {
    for (let at = Math.max(0, position + 1 - WINDOW); at < position; at++) {
      if ((list.pages[Math.floor(at / PAGE)] ?? GONE) === GONE) return false
    }
    return true
  }

  it('are there for what is seen, whoever else writes, and a sequence is cut to where all is there', () => {
    const chance = new Chance(9)
    const pool = new WindowPool(24, WINDOW)
    const lengths = new Map<WindowList, number>()
    const open = () => {
      const list: WindowList = new WindowList(pool, () => void lengths.set(list, 0))
      lengths.set(list, 0)
      return list
    }
    const lists = Array.from({ length: 6 }, open)
    let [falls, cuts] = [0, 0]
    for (let turn = 0; turn < 3000; turn++) {
      const batch = lists.filter(() => chance.below(3) === 0).slice(0, 3)
      pool.begin(batch)
      const before = batch.map((list) => lengths.get(list)!)
      const tokens = batch.map(() => (chance.below(2) === 0 ? 1 : 1 + chance.below(20)))
      batch.forEach((list, i) => {
        list.append(before[i]!, tokens[i]!, { copies: [], cleared: [] })
        lengths.set(list, before[i]! + tokens[i]!)
      })
      const written = new Set<number>()
      batch.forEach((list, i) => {
        // What was there before the pass is read by its first row, and nobody else writes where it writes.
        expect(sees(list, before[i]!)).toBe(true)
        for (let at = before[i]!; at < before[i]! + tokens[i]!; at += PAGE) {
          const page = list.pages[Math.floor(at / PAGE)]!
          expect(page).not.toBe(GONE)
          expect(written.has(page)).toBe(false)
          written.add(page)
        }
      })
      for (const list of lists) if (!batch.includes(list) && lengths.get(list) === 0) falls++
      const list = lists[chance.below(lists.length)]!
      const length = lengths.get(list)!
      // A page's worth is taken back without a loss.
      const near = Math.max(0, length - chance.below(PAGE))
      if (batch.includes(list) && tokens[batch.indexOf(list)]! === 1) expect(list.reach(near)).toBe(near)
      if (chance.below(3) === 0) {
        const wanted = chance.below(length + 1)
        const left = list.reach(wanted)
        expect(left).toBeLessThanOrEqual(wanted)
        expect(sees(list, left)).toBe(true)
        if (left < wanted) cuts++
        list.cut(left)
        lengths.set(list, left)
      }
      if (chance.below(9) === 0) {
        const other = open()
        other.shareWith(list)
        lengths.set(other, lengths.get(list)!)
        lists.splice(0, 1)[0]!.close()
        lists.push(other)
      }
    }
    expect(Math.min(falls, cuts)).toBeGreaterThan(10)
    for (const list of lists) list.close()
    expect(pool.free).toBe(24)
  })

  it('stay where the last prompt ended for longer than others that nobody sees', () => {
    const pool = new WindowPool(11, WINDOW)
    const list = new WindowList(pool, () => {})
    let length = 0
    const append = (tokens: number) => {
      pool.begin([list])
      list.append(length, tokens, { copies: [], cleared: [] })
      length += tokens
    }
    for (let i = 0; i < 6; i++) append(20)
    for (let i = 0; i < 100; i++) append(1)
    expect(list.reach(120)).toBe(120)
    expect(list.reach(60)).toBe(0)
  })
})

describe('the memory of windows', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each([gemma3, gemma4])('is known before $name is loaded, and is less than that of whole contexts', async (of) => {
    const source = sourceOf(of, 'f32')
    const options = { contextLength: 2048, maxBatch: 2, maxChunk: 32 }
    const { size, model } = planModel(source, device, options)
    const { bytes } = size
    const before = device.memory.bytes
    const core = await loadCore(device, source, options)
    const tokens = Array.from({ length: 32 }, (_, i) => i)
    await core.step([{ sequence: core.open(), tokens, sample: GREEDY }])
    const taken = device.memory.bytes - before
    expect(taken).toBeLessThanOrEqual(bytes.total + 64 * device.memory.buffers)
    expect(taken).toBeGreaterThan(0.9 * bytes.total)
    await core.close()
    const whole = { ...model, layers: model.layers.map((layer) => ({ ...layer, window: undefined })) }
    expect(bytes.windows).toBeGreaterThan(0)
    const perToken = whole.layers.reduce((sum, layer) => {
      return 'keysOf' in layer && layer.keysOf !== undefined
        ? sum
        : sum + ('headSize' in layer ? 2 * layer.keyHeads * layer.headSize * 4 : 0)
    }, 0)
    expect(bytes.cache + bytes.windows).toBeLessThan(0.75 * size.pages * PAGE * perToken)
  })

  it('is that of whole contexts where windows would save nothing', () => {
    const source = sourceOf(gemma3, 'f32')
    const { bytes, windowPages } = planModel(source, device, { contextLength: 64 }).size
    expect([bytes.windows, windowPages]).toEqual([0, 0])
  })

  it('answers a long prompt in it as in whole contexts', async () => {
    const chance = new Chance(21)
    const prompt = Array.from({ length: 600 }, () => 259 + chance.below(300))
    const found = []
    // With so short a context nothing would be saved.
    for (const contextLength of [2048, 720]) {
      const [source, options] = [sourceOf(gemma4, 'f32'), { contextLength, maxBatch: 8, maxChunk: 48 }]
      expect(planModel(source, device, options).size.windowPages > 0).toBe(contextLength === 2048)
      const core = await loadCore(device, source, options)
      const sequence = core.open()
      const answers = []
      for (let fed = prompt, i = 0; i < 40; i++) {
        const [sampled] = await core.step([{ sequence, tokens: fed, sample: { ...GREEDY, index: i } }])
        answers.push(sampled)
        fed = [sampled!.token]
      }
      found.push(answers)
      await core.close()
    }
    expect(found[0]).toEqual(found[1])
  })
})
