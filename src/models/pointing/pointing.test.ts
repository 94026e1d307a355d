import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type PointingNumbers,
  type PointingText,
  pointing,
  type Rounds,
} from '../../../test/oracles/encoders/pointing.js'
import { POINTERS } from '../../contract/index.js'
import type { PointingModel } from '../../contract/vector-model.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DECIDING_DEVICES } from '../../device/operations/devices.test-helper.js'
import { Chance } from '../../device/operations/numbers.test-helper.js'
import { GREEDY } from '../architectures/cases.test-helper.js'
import type { Core } from '../core.js'
import { loadCore } from '../load.js'
import { planModel } from '../plan-model.js'

/** Conversations may be shorter than what is pointed into. */
const OPTIONS = { contextLength: 64, maxBatch: 2 }

const texts = pointing.texts()
const truth = texts.map((text) => pointing.numbersOf(text))

/** They differ in size, and in what they lose. */
const KINDS = ['heads', 'nothings', 'words'] as const
type Apart = Readonly<Record<(typeof KINDS)[number], number>>

const furthest = (actual: readonly ArrayLike<number>[], of: readonly ArrayLike<number>[]): number =>
  of.reduce(
    (most, row, i) =>
      Array.from(row).reduce((far, value, at) => Math.max(far, Math.abs(value - actual[i]![at]!)), most),
    0,
  )
/** Of all texts. */
const apart = (numbersOf: (text: PointingText) => PointingNumbers): Apart => {
  const all = texts.map(numbersOf)
  const of = (kind: keyof Apart) => Math.max(...all.map((one, i) => furthest(one[kind], truth[i]![kind])))
  return { heads: of('heads'), nothings: of('nothings'), words: of('words') }
}

/**
 * What a device may be off by: twice the most that random losses do to the definition. Sums in f32 lose 2^-20, and 8 bits
 * per block half a step, 1/254 of the block's greatest.
 */
function boundsOf(loss: number): Apart {
  const lost = [1, 2, 3].map((seed) => {
    const chance = new Chance(seed)
    const rounds: Rounds = (x) =>
      x.map((value, i) => {
        const block = x.subarray(i & ~31, (i & ~31) + 32)
        return value + loss * (2 * chance.next() - 1) * Math.max(...block.map(Math.abs))
      })
    return apart((text) => pointing.numbersOf(text, undefined, rounds))
  })
  const of = (kind: keyof Apart) => 2 * Math.max(...lost.map((one) => one[kind]))
  return { heads: of('heads'), nothings: of('nothings'), words: of('words') }
}
const EXACT = boundsOf(2 ** -20)
const ROUNDED = boundsOf(1 / 254)

/** The numbers of a text as the contract lays them out. */
function partsOf(vector: Float32Array, { tokens, marks }: PointingText, { headSize, vocabulary }: PointingModel) {
  const perToken = POINTERS.length * headSize
  const nothings = tokens.length * perToken
  const words = nothings + marks.length * 3
  expect(vector).toHaveLength(words + marks.length * vocabulary)
  const rows = (from: number, count: number, size: number) =>
    Array.from({ length: count }, (_, i) => Float64Array.from(vector.subarray(from + i * size, from + (i + 1) * size)))
  return {
    heads: rows(0, tokens.length, perToken),
    nothings: rows(nothings, marks.length, 3),
    words: rows(words, marks.length, vocabulary),
  }
}

describe.each(DECIDING_DEVICES)('what points on $name', ({ open, roundsActivations }) => {
  it('has the numbers of float64, of texts side by side the same as of each alone', async () => {
    const device = await open()
    const core = await loadCore(device, pointing.source(), OPTIONS)
    const { model } = core.pointing!
    expect(core.pointing).toMatchObject({
      headSize: 24,
      vocabulary: 640,
      logitScales: [...pointing.weights('pointing.said')],
    })
    await model.prepare?.()
    const reply = await model.vectors(texts)
    const off = apart((text) => partsOf(reply[texts.indexOf(text)]!, text, core.pointing!))
    const bounds = roundsActivations ? ROUNDED : EXACT
    for (const kind of KINDS) expect(off[kind]).toBeLessThan(bounds[kind])
    for (const [i, text] of texts.entries()) {
      if (text.marks.length > 0) expect(await model.vectors([text])).toEqual([reply[i]])
    }
    await core.close()
    device.destroy()
  })

  it('has the memory that is planned for it, and gives it back', async () => {
    const device = await open()
    const before = device.memory
    const taken = async (points: boolean) => {
      const source = pointing.source(points)
      const { bytes } = planModel(source, device, OPTIONS).size
      const core = await loadCore(device, source, OPTIONS)
      if (core.pointing) {
        const { model, mostQuestions } = core.pointing
        const length = model.batchTokens / model.batchTexts
        const full = {
          tokens: Array.from({ length }, (_, i) => i),
          marks: Array.from({ length: mostQuestions }, (_, i) => length - 1 - i),
        }
        await model.vectors(Array.from({ length: model.batchTexts }, () => full))
        const longest = {
          ...full,
          tokens: Array.from({ length: model.batchTokens }, (_, i) => i % pointing.vocabulary),
        }
        if (device.info.kind === 'cpu') await model.vectors([longest])
      }
      const { bytes: used, buffers } = device.memory
      await core.close()
      return { planned: bytes.total, used: used - before.bytes, buffers }
    }
    const [bare, beside] = [await taken(false), await taken(true)]
    const [planned, used] = [beside.planned - bare.planned, beside.used - bare.used]
    // Tensors begin at multiples of 64 bytes; each may take so much more.
    expect(used).toBeLessThanOrEqual(planned + 64 * beside.buffers)
    expect(used).toBeGreaterThan(0.7 * planned)
    // A GPU keeps what it reads through.
    if (device.info.kind === 'cpu') expect(device.memory).toEqual(before)
    device.destroy()
  })
})

it.each(pointing.mistakes)('that what points %s would be found out, on every device', (mistake) => {
  const off = apart((text) => pointing.numbersOf(text, mistake))
  expect(Math.max(...KINDS.map((kind) => off[kind] / ROUNDED[kind]))).toBeGreaterThan(2)
  expect(Math.max(...KINDS.map((kind) => off[kind] / EXACT[kind]))).toBeGreaterThan(100)
})

describe.each([
  ['in 8 bits', false],
  ['exact', true],
])('beside a decoder on the CPU, %s', (_, exact) => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 2, exact })
  })
  afterAll(() => device.destroy())

  it('nothing of what it writes changes, even in between', async () => {
    const written = async (core: Core) => {
      const sequence = core.open()
      let tokens = texts[0]!.tokens
      const sampled = []
      for (let index = 0; index < 4; index++) {
        await core.pointing?.model.vectors(texts.slice(0, 2))
        const [one] = await core.step([{ sequence, tokens, sample: { ...GREEDY, index } }])
        sampled.push(one!)
        tokens = [one!.token]
      }
      await core.close()
      return sampled
    }
    const [bare, beside] = [
      await loadCore(device, pointing.source(false), OPTIONS),
      await loadCore(device, pointing.source(), OPTIONS),
    ]
    expect(bare.pointing).toBeUndefined()
    expect(await written(beside)).toEqual(await written(bare))
  })

  it('it answers nothing any more once the decoder is closed', async () => {
    const core = await loadCore(device, pointing.source(), OPTIONS)
    await core.close()
    await expect(core.pointing!.model.vectors(texts)).rejects.toThrow('closed')
  })
})
