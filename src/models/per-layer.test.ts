import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gemma4 } from '../../test/oracles/families/gemma4.js'
import type { Sampled, Sequence } from '../contract/token-model.js'
import type { Device } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import { floatToHalf } from '../platform/half.js'
import { GREEDY, sourceOf } from './architectures/cases.test-helper.js'
import type { Core } from './core.js'
import { storedRows } from './files/rows.js'
import type { WeightSource } from './files/source.js'
import { HostRows, hostBytes } from './host-rows.js'
import { loadCore } from './load.js'
import { planModel } from './plan-model.js'

const OPTIONS = { contextLength: 160, maxBatch: 4, cacheTokens: 2048 }

describe('layers that are given their own of every token, and share keys', () => {
  let device: Device
  let core: Core
  const chance = new Chance(17)
  const tokens = (count: number) => Array.from({ length: count }, () => chance.below(core.vocabSize))
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
    core = await loadCore(device, sourceOf(gemma4, 'f32'), OPTIONS)
  })
  afterAll(async () => {
    await core.close()
    device.destroy()
  })

  const next = async (sequence: Sequence, fed: readonly number[]): Promise<Sampled> =>
    (await core.step([{ sequence, tokens: fed, sample: GREEDY }]))[0]!

  it('answer in a batch as alone, however a prompt is cut', async () => {
    const texts = [tokens(70), tokens(9), tokens(33)]
    const alone: Sampled[] = []
    for (const text of texts) alone.push(await next(core.open(), text))
    const sequences = texts.map(() => core.open())
    const batched = await core.step(texts.map((text, i) => ({ sequence: sequences[i]!, tokens: text, sample: GREEDY })))
    expect(batched).toEqual(alone)
    for (const [i, text] of texts.entries()) {
      const sequence = core.open()
      for (let at = 0; at < text.length - 5; at += 5) await core.step([{ sequence, tokens: text.slice(at, at + 5) }])
      const rest = Math.floor((text.length - 1) / 5) * 5
      expect(await next(sequence, text.slice(rest))).toEqual(alone[i])
    }
  })

  it('answer after a cut and in a copy as from the begin', async () => {
    const [text, other] = [tokens(75), tokens(20)]
    const sequence = core.open()
    await next(sequence, text)
    const copy = sequence.clone()
    sequence.truncate(41)
    const fresh = await next(core.open(), [...text.slice(0, 41), ...other])
    expect(await next(sequence, other)).toEqual(fresh)
    expect(await next(copy, other)).toEqual(await next(core.open(), [...text, ...other]))
  })

  it('are run ahead of, token by token, as by steps', async () => {
    const text = tokens(12)
    const [one, two] = [core.open(), core.open()]
    const ahead: number[] = []
    for await (const [sampled] of core.run([{ sequence: one, tokens: text, sample: GREEDY }], 5)) {
      ahead.push(sampled!.token)
    }
    const stepped: number[] = []
    for (let fed = text, i = 0; i < 5; i++) {
      const { token } = (await core.step([{ sequence: two, tokens: fed, sample: { ...GREEDY, index: i } }]))[0]!
      stepped.push(token)
      fed = [token]
    }
    expect(ahead).toEqual(stepped)
  })

  it('take memory of the host, which is told and is not the device', () => {
    const source = sourceOf(gemma4, 'f16')
    const { perLayer } = planModel(source, device, OPTIONS).tensors
    const [table] = perLayer!.tables
    const bytes = table!.rows * table!.columns * 2
    expect(planModel(source, device, OPTIONS).size.bytes.host).toBe(bytes)
    const four = planModel(source, device, { ...OPTIONS, quantize: 'q4f16_1' }).size.bytes.host
    expect(four / bytes).toBeCloseTo(4.5 / 16)
    const without = { ...source, names: source.names.filter((name) => !name.includes('embed_tokens_per_layer')) }
    expect(() => planModel(without, device, OPTIONS)).toThrow('embed_tokens_per_layer')
  })
})

describe('rows of a table that stays with the host', () => {
  const [rows, columns] = [70, 64]
  const chance = new Chance(3)
  const values = chance.floats(rows * columns)
  const halves = Uint16Array.from(values, floatToHalf)
  const spans = [{ tokens: Int32Array.of(69, 0) }, { tokens: Int32Array.of(33) }]

  /** `apart`: rows can be read by themselves. */
  function sourceWith(dtype: 'f32' | 'f16' | 'bf16', apart: boolean): WeightSource {
    const high = Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16)
    const data = new Uint8Array({ f32: values, f16: halves, bf16: high }[dtype].buffer)
    const described = { name: 'table.weight', shape: [rows, columns], dtype }
    return {
      ...{ chatConfig: {}, names: ['table.weight'], digest: '', has: () => true, describe: () => described },
      read: async () => ({ ...described, data }),
      ...(apart && { rows: () => storedRows(dtype, columns, async (from, to) => data.slice(from, to)) }),
    }
  }

  it.each((['f32', 'f16', 'bf16'] as const).flatMap((stored) => [true, false].map((apart) => ({ stored, apart }))))(
    'are those of $stored, in whole or apart ($apart), plain and in four bits',
    async ({ stored, apart }) => {
      const parts = [{ name: 'table', rows, stored }]
      for (const quantize of [false, true]) {
        const planned = { parts, rows, columns, scaleType: 'f16', quantize } as const
        const source = sourceWith(stored, apart)
        const table = await HostRows.load(source, [planned])
        const got = table.of(spans, 2)
        const greatest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
        const lost = { f32: 0, f16: 2 ** -11, bf16: 2 ** -7 }[stored]
        // Half a step of fourteen, of a scale in f16.
        const bound = 2 * greatest * (quantize ? lost + (1 + 2 ** -7) / 14 : lost)
        expect(got.length).toBe(3 * columns)
        ;[69, 0, 33].forEach((row, at) => {
          for (let i = 0; i < columns; i++) {
            expect(Math.abs(got[at * columns + i]! - 2 * values[row * columns + i]!)).toBeLessThanOrEqual(bound)
          }
        })
        const width = quantize ? columns * (4.5 / 8) : columns * (stored === 'f32' ? 4 : 2)
        expect(hostBytes(planned)).toBe(rows * width)
      }
    },
  )
})
