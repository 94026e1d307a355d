import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import { SAMPLING, SAMPLING_NAMES } from '../../contract/sampling.js'
import { MOST_AMONG, UNDRAWN } from '../../contract/token-model.js'
import type { Device, SampleRow } from '../contract.js'
import { sampleRow } from '../sampling.js'
import { KERNEL_DEVICES } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { Chance } from './numbers.test-helper.js'
import { sample } from './sample/index.js'

const VOCABULARY = 3112
const TOKENS = 3100

// Its kernels hang on how many lanes reach each other, and on no other cut: those with less memory have them as those
// without subgroups, and those that are cut in other ways as the usual ones.
const SAMPLING_ON = KERNEL_DEVICES.filter(({ name }) => FULL || !/the least|other ways/.test(name))

describe.each(SAMPLING_ON.filter(({ name }) => name !== 'cpu, exact'))('sampling on $name', ({ open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  /** Samples rows of one set of logits, on the device and by the definition. */
  async function both(logits: Float32Array, rows: readonly SampleRow[], count: number) {
    const bytes = new Uint8Array(logits.buffer, logits.byteOffset, logits.byteLength)
    const table = device.matrix({ format: 'f32', rows: count, columns: VOCABULARY, data: bytes })
    const values = device.activations(count, VOCABULARY)
    const sampler = device.sampler({ vocabulary: VOCABULARY, tokens: TOKENS, rows: 8, slots: 16 })
    const tokens = Int32Array.from({ length: count }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }], sampler })
    pass.run(embed, table, values)
    pass.run(sample, sampler, values, rows)
    const got = await pass.submit()
    for (const resource of [table, values, sampler]) resource.destroy()
    const scratch = new Float32Array(VOCABULARY)
    const expected = rows.map((row, i) =>
      sampleRow(logits.slice(i * VOCABULARY, (i + 1) * VOCABULARY), TOKENS, row, scratch),
    )
    return { got, expected }
  }
  const settings = (more: Partial<SampleRow>): SampleRow => ({
    slot: 3,
    temperature: 0,
    topP: 1,
    seed: 1,
    index: 0,
    ...more,
  })

  it('greedy: the greatest, the lowest id among equals, never padding', async () => {
    const logits = new Chance(1).floats(VOCABULARY)
    logits[2999] = logits[17] = logits[1024] = 9
    logits[TOKENS + 5] = 99
    const { got } = await both(logits, [settings({})], 1)
    expect(got).toEqual([{ token: 17 }])
  })

  it('mask and adjustments come before the choice', async () => {
    const logits = new Chance(2).floats(VOCABULARY)
    logits[40] = 50
    logits[41] = 49
    const mask = new Uint32Array(Math.ceil(TOKENS / 32)).fill(0xffffffff)
    mask[1] = ~(1 << 8)
    const adjust = { tokens: Int32Array.of(41, 1500), deltas: Float32Array.of(-100, 20) }
    const lone = new Uint32Array(94)
    lone[93] = 1 << 7
    const short = Uint32Array.of(0, 1 << 3)
    const rows = [settings({ mask }), settings({ adjust }), settings({ mask, adjust }), settings({ mask: lone })]
    const all = new Float32Array(VOCABULARY * 5)
    for (let i = 0; i < 5; i++) all.set(logits, i * VOCABULARY)
    const { got } = await both(all, [...rows, settings({ mask: short, temperature: 1 })], 5)
    expect(got.map(({ token }) => token)).toEqual([41, 40, 1500, 93 * 32 + 7, 35])
  })

  it('tokens that are named are told as float64 has them, side by side, with other log probabilities or without', async () => {
    const logits = new Chance(7).floats(VOCABULARY * 3, 4)
    const many = Array.from({ length: MOST_AMONG }, (_, i) => (i * 37) % TOKENS)
    const named = [[0, TOKENS - 1, 5], many, [9]]
    const rows = [
      settings({ among: named[0]! }),
      settings({ among: many, topLogprobs: 3, temperature: 1 }),
      settings({ among: [9] }),
    ]
    const { got } = await both(logits, rows, 3)
    for (const [i, { among, top }] of got.entries()) {
      const own = Array.from(logits.subarray(i * VOCABULARY, i * VOCABULARY + TOKENS))
      const total = Math.log(own.reduce((sum, logit) => sum + Math.exp(logit), 0))
      expect(among).toHaveLength(named[i]!.length)
      for (const [k, token] of named[i]!.entries())
        expect(Math.abs(among![k]! - own[token]! + total)).toBeLessThan(1e-4)
      expect(top?.length).toBe(i === 1 ? 3 : undefined)
    }
  })

  it('what a mask allows is weighed as float64 has it, whatever else is asked and however unlikely all of it is', async () => {
    const logits = new Chance(8).floats(VOCABULARY * 5, 4)
    // So far below the others that no f32 can say what is left.
    for (let t = 0; t < 40; t++) logits[VOCABULARY * 3 + t]! -= 200
    const some = Uint32Array.from({ length: 97 }, (_, i) => (i % 5 === 0 ? 0x10402101 : 0))
    const few = Uint32Array.of(0xffffffff, 0xff)
    const masks = [some, few, undefined, few, some]
    const adjust = { tokens: Int32Array.of(0, 40), deltas: Float32Array.of(30, -30) }
    const rows = masks.map((mask, i) =>
      settings({
        admitted: true,
        temperature: i % 2,
        ...(mask && { mask }),
        ...(i === 1 && { topLogprobs: 2, minP: 0.5 }),
        ...(i === 4 && { among: [3], adjust, topK: 3 }),
      }),
    )
    const { got } = await both(logits, rows, 5)
    for (const [i, { admitted }] of got.entries()) {
      const own = Array.from(logits.subarray(i * VOCABULARY, i * VOCABULARY + TOKENS))
      const most = Math.max(...own)
      const allowed = own.filter((_, t) => !masks[i] || ((masks[i][t >>> 5] ?? 0) >>> (t & 31)) & 1)
      const greatest = Math.max(...allowed)
      const log = (values: readonly number[], at: number) =>
        at + Math.log(values.reduce((sum, logit) => sum + Math.exp(logit - at), 0))
      expect(Math.abs(admitted! - log(allowed, greatest) + log(own, most))).toBeLessThan(1e-4)
    }
  })

  it('log probabilities are of the logits as they were given', async () => {
    const logits = new Chance(3).floats(VOCABULARY, 3)
    logits[5] = logits[2000] = 20
    const adjust = { tokens: Int32Array.of(5), deltas: Float32Array.of(-30) }
    const rows = [settings({ adjust, topLogprobs: 20 })]
    const { got, expected } = await both(logits, rows, 1)
    expect(got[0]!.token).toBe(2000)
    expect(got[0]!.top!.map(({ token }) => token)).toEqual(expected[0]!.top!.map(({ token }) => token))
    expect(got[0]!.top!.slice(0, 2).map(({ token }) => token)).toEqual([5, 2000])
    for (let i = 0; i < 20; i++) {
      expect(Math.abs(got[0]!.top![i]!.logprob - expected[0]!.top![i]!.logprob)).toBeLessThan(1e-5)
    }
    const none = await both(logits, [settings({ topLogprobs: 0 })], 1)
    expect(none.got[0]!.top).toEqual([])
    expect(Math.abs(none.got[0]!.logprob! - none.expected[0]!.logprob!)).toBeLessThan(1e-5)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'draws nothing where a logit is %d, and draws for the rows beside it',
    async (odd) => {
      const count = 8
      const logits = new Chance(6).floats(VOCABULARY * count, 2)
      const whole = logits.slice()
      // At the ends, in the midst, and among padding, where nobody looks.
      const places = [0, 1023, 1024, 3099, TOKENS]
      places.forEach((place, i) => {
        logits[(i + 1) * VOCABULARY + place] = odd
      })
      const mask = new Uint32Array(97).fill(0xffffffff)
      mask[0] = 0xfffffffe
      const rows = Array.from({ length: count }, (_, i) =>
        settings({
          slot: i,
          temperature: i % 2,
          topP: i % 3 === 0 ? 0.9 : 1,
          topLogprobs: 2,
          ...(i === 1 && { mask }),
        }),
      )
      const { got, expected } = await both(logits, rows, count)
      const tokens = got.map(({ token }) => token)
      expect(tokens.slice(1, 5)).toEqual([UNDRAWN, UNDRAWN, UNDRAWN, UNDRAWN])
      expect(expected.map(({ token }) => token)).toEqual(tokens)
      const sound = (await both(whole, rows, count)).got.map(({ token }) => token)
      for (const i of [0, 5, 6, 7]) expect(tokens[i]).toBe(sound[i])
    },
  )

  it('applies min_p and penalties as the definition does', async () => {
    const rows = Array.from({ length: 8 }, (_, i) => {
      const chance = new Chance(40 + i)
      const tokens = Uint32Array.from(chance.floats(97, 2 ** 32), (value) => value)
      const mask = Uint32Array.from(chance.floats(97, 2 ** 32), (value) => value)
      return settings({
        slot: i,
        temperature: [0.7, 1, 3][i % 3]!,
        topP: [1, 0.9, 0.5][i % 3]!,
        seed: i,
        ...(i % 4 > 0 && { topK: [1, 20, 300, 5000][i % 4]! }),
        ...(i % 2 === 0 && { minP: [0.02, 0.3, 1][i % 3]! }),
        ...(i % 3 > 0 && { typicalP: [0.2, 0.6, 0.95][i % 3]! }),
        ...(i % 4 < 3 && { xtcProbability: 0.7, xtcThreshold: [0.01, 0.05, 0.2][i % 3]! }),
        ...(i > 3 && { repeats: { tokens, by: 1.7 } }),
        ...(i > 5 && { mask, adjust: { tokens: Int32Array.of(i, 700), deltas: Float32Array.of(4, -3) } }),
      })
    })
    for (let index = 0; index < 6; index++) {
      const logits = new Chance(50 + index).floats(VOCABULARY * 8, 2)
      // Equal ones among the greatest, so that the bound of the greatest k lies within them.
      if (index === 5) for (let i = 0; i < logits.length; i++) logits[i] = Math.round(2 * logits[i]!) / 2
      const { got, expected } = await both(
        logits,
        rows.map((row) => ({ ...row, index })),
        8,
      )
      expect(got.map(({ token }) => token)).toEqual(expected.map(({ token }) => token))
    }
  })

  it('draws as the definition does with each setting of a draw by itself, at several values', async () => {
    const rows = SAMPLING_NAMES.filter((name) => SAMPLING[name].acts === 'draw').flatMap((name) => {
      const { least, most, whole } = SAMPLING[name]
      const values = whole ? [1, 5, 300] : [0.04, 0.3, 0.6, 1].map((share) => least + share * (most - least))
      // Neither of XTC's two does much by itself.
      const beside = name.startsWith('xtc') && { xtcProbability: 1, xtcThreshold: 0.001 }
      return values.map((value) => settings({ temperature: 1, ...beside, [name]: value }))
    })
    for (let at = 0; at < rows.length; at += 4) {
      const logits = new Chance(70 + at).floats(VOCABULARY * 8, 3)
      // Each twice, as what is left out would not have been drawn every time.
      const each = [...rows.slice(at, at + 4), ...rows.slice(at, at + 4)].map((row, i) => ({
        ...row,
        slot: i,
        seed: i,
      }))
      const { got, expected } = await both(logits.subarray(0, VOCABULARY * each.length), each, each.length)
      expect(got.map(({ token }) => token)).toEqual(expected.map(({ token }) => token))
    }
  })

  it('draws what the definition draws', async () => {
    const logits = new Chance(4).floats(VOCABULARY * 8, 2)
    let same = 0
    let all = 0
    for (let index = 0; index < 6; index++) {
      const rows = Array.from({ length: 8 }, (_, i) =>
        settings({
          slot: i,
          temperature: [0.3, 1, 2][i % 3]!,
          topP: [1, 0.9, 0.3, 0.999][i % 4]!,
          seed: 2 ** 40 + i,
          index,
        }),
      )
      const { got, expected } = await both(logits, rows, 8)
      got.forEach(({ token }, i) => {
        same += token === expected[i]!.token ? 1 : 0
        all++
      })
    }
    // Two draws within the rounding of f32 of each other may fall the other way; one in 48 would be a bug.
    expect(same).toBe(all)
  })
})

describe('the definition', () => {
  const shares = (row: Partial<SampleRow>, weights: readonly number[]) => {
    const scratch = new Float32Array(weights.length)
    const counts = weights.map(() => 0)
    for (let index = 0; index < 20000; index++) {
      const all = { slot: 0, temperature: 1, topP: 1, seed: 9, index, ...row }
      counts[sampleRow(Float32Array.from(weights, Math.log), weights.length, all, scratch).token]!++
    }
    return counts.map((n) => n / 20000)
  }

  /** vLLM's order: temperature, then min_p, then top_k, then top_p of what is left; each renormalised. */
  it.each<[Partial<SampleRow>, readonly number[]]>([
    [{ topK: 2 }, [5 / 8, 3 / 8, 0, 0]],
    [{ topK: 1 }, [1, 0, 0, 0]],
    [{ topK: 9 }, [0.5, 0.3, 0.15, 0.05]],
    [{ minP: 0.3 }, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0]],
    [{ minP: 1 }, [1, 0, 0, 0]],
    // Twice as sharp: 0.25, 0.09, ...; 0.3 of 0.25 leaves two.
    [{ minP: 0.3, temperature: 0.5 }, [0.25 / 0.34, 0.09 / 0.34, 0, 0]],
    // The likeliest is less than 0.55 of three, and more of two.
    [{ topK: 3, topP: 0.55 }, [5 / 8, 3 / 8, 0, 0]],
    [{ topK: 2, topP: 0.55 }, [1, 0, 0, 0]],
    // The entropy is 1.14, and surprises are 0.69, 1.2, 1.9 and 3.
    [{ typicalP: 0.2 }, [0, 1, 0, 0]],
    [{ typicalP: 0.5 }, [5 / 8, 3 / 8, 0, 0]],
    [{ typicalP: 0.5, temperature: 0.5 }, [25 / 34, 9 / 34, 0, 0]],
    [{ typicalP: 0.2, minP: 1, topP: 0.1 }, [0, 1, 0, 0]],
    [{ xtcProbability: 1 }, [0, 0, 0.75, 0.25]],
    [{ xtcProbability: 1, xtcThreshold: 0.2 }, [0, 0.6, 0.3, 0.1]],
    [{ xtcProbability: 1, xtcThreshold: 0.4 }, [0.5, 0.3, 0.15, 0.05]],
    // Half of them without the first two.
    [{ xtcProbability: 0.5 }, [0.25, 0.15, 0.45, 0.15]],
    // What has 0.3 of all has 0.375 of what is left; and then the temperature counts.
    [{ xtcProbability: 1, xtcThreshold: 0.35, topK: 2 }, [0, 1, 0, 0]],
    [
      { xtcProbability: 1, xtcThreshold: 0.2, temperature: 0.5, minP: 0.01 },
      [0, 0.09 / 0.115, 0.0225 / 0.115, 0.0025 / 0.115],
    ],
    [{ xtcProbability: 1, xtcThreshold: 0, topP: 0.5 }, [0, 0, 0, 1]],
  ])('draws only what the settings leave, as often as they say: %j', (row, expected) => {
    shares(row, [0.5, 0.3, 0.15, 0.05]).forEach((share, i) => {
      if (expected[i] === 0) expect(share).toBe(0)
      // Five standard deviations of 20,000 draws.
      else expect(Math.abs(share - expected[i]!)).toBeLessThan(0.018)
    })
  })

  it('keeps the locally typical tokens as llama.cpp does, of those that topK leaves: by float64 from the publication', () => {
    const scratch = new Float32Array(12)
    for (let round = 0; round < 40; round++) {
      const chance = new Chance(round)
      const logits = chance.floats(12, [1, 3, 8][round % 3]!)
      const typicalP = [0, 0.1, 0.5, 0.9][round % 4]!
      const topK = [undefined, 7][round % 2]
      const greatest = [...logits.entries()].sort(([, a], [, b]) => b - a).slice(0, topK ?? 12)
      const sum = greatest.reduce((all, [, logit]) => all + Math.exp(logit), 0)
      const surprises = greatest.map(([token, logit]) => ({ token, p: Math.exp(logit) / sum }))
      const entropy = -surprises.reduce((all, { p }) => all + p * Math.log(p), 0)
      const distance = (p: number) => Math.abs(-Math.log(p) - entropy)
      const kept = new Set<number>()
      let mass = 0
      for (const { token, p } of surprises.sort((a, b) => distance(a.p) - distance(b.p))) {
        kept.add(token)
        mass += p
        if (mass > typicalP) break
      }
      // So hot that all that is kept is drawn: that one of twelve is not, 1,000 times, has a chance of 1e-37.
      const row = { slot: 0, temperature: 1000, topP: 1, seed: round, typicalP, ...(topK && { topK }) }
      const drawn = Array.from({ length: 1000 }, (_, index) => sampleRow(logits, 12, { ...row, index }, scratch).token)
      expect(new Set(drawn), `${round}`).toEqual(kept)
    }
  })

  it('leaves out the likeliest tokens as llama.cpp does, down to the last that reaches the threshold', () => {
    const scratch = new Float32Array(12)
    for (let round = 0; round < 40; round++) {
      const chance = new Chance(100 + round)
      const logits = chance.floats(12, [1, 3, 8][round % 3]!)
      const xtcThreshold = [0.02, 0.1, 0.3, 0.5][round % 4]!
      const topK = [undefined, 7][round % 2]
      const order = [...logits.entries()].sort(([, a], [, b]) => b - a).slice(0, topK ?? 12)
      const sum = order.reduce((all, [, logit]) => all + Math.exp(logit), 0)
      const last = order.filter(([, logit]) => Math.exp(logit) / sum >= xtcThreshold).length - 1
      const kept = new Set(order.slice(Math.max(0, last)).map(([token]) => token))
      const row = {
        slot: 0,
        temperature: 1000,
        topP: 1,
        seed: round,
        xtcProbability: 1,
        xtcThreshold,
        ...(topK && { topK }),
      }
      const drawn = Array.from({ length: 1000 }, (_, index) => sampleRow(logits, 12, { ...row, index }, scratch).token)
      expect(new Set(drawn), `${round}`).toEqual(kept)
    }
  })

  it('keeps what equals the last of the greatest', () => {
    expect(shares({ topK: 2 }, [0.4, 0.2, 0.2, 0.2]).every((share) => share > 0.15)).toBe(true)
  })

  it('divides logits above 0 and multiplies those below, of what was said', () => {
    const row = { slot: 0, temperature: 0, topP: 1, seed: 1, index: 0, topLogprobs: 0 }
    const most = (logits: number[], pastTokens: number, by: number) =>
      sampleRow(
        Float32Array.from(logits),
        logits.length,
        { ...row, repeats: { tokens: Uint32Array.of(pastTokens), by } },
        new Float32Array(logits.length),
      ).token
    expect(most([3, 2, 1], 0b001, 1.4)).toBe(0)
    expect(most([3, 2, 1], 0b001, 1.6)).toBe(1)
    expect(most([-2, -3, -4], 0b001, 1.4)).toBe(0)
    expect(most([-2, -3, -4], 0b001, 1.6)).toBe(1)
    expect(most([3, 2, 1], 0b111, 5)).toBe(0)
    expect(most([3, 2.9, 1], 0b010, 0.5)).toBe(1)
  })

  it('draws tokens with their probabilities, and none outside the nucleus', () => {
    const logits = Float32Array.from([Math.log(0.5), Math.log(0.3), Math.log(0.15), Math.log(0.05)])
    const scratch = new Float32Array(4)
    const count = (topP: number) => {
      const counts = [0, 0, 0, 0]
      for (let index = 0; index < 20000; index++) {
        counts[sampleRow(logits, 4, { slot: 0, temperature: 1, topP, seed: 9, index }, scratch).token]!++
      }
      return counts.map((n) => n / 20000)
    }
    // Five standard deviations of 20,000 draws.
    count(1).forEach((share, i) => {
      expect(Math.abs(share - [0.5, 0.3, 0.15, 0.05][i]!)).toBeLessThan(0.018)
    })
    const nucleus = count(0.7)
    expect(nucleus.slice(2)).toEqual([0, 0])
    expect(Math.abs(nucleus[0]! - 0.625)).toBeLessThan(0.018)
  })
})
