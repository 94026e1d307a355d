import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { laya, layaInputs, writeLaya } from '../../../test/oracles/encoders/laya.js'
import { encoderWeights } from '../../../test/oracles/encoders/source.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { TextTokens } from '../../contract/vector-model.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DECIDING_DEVICES } from '../../device/operations/devices.test-helper.js'
import { openRepository } from '../files/open.js'
import type { WeightSource } from '../files/source.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'
import { furthest } from './vectors.test-helper.js'

/** Of a score: what sums in f32 may lose. */
const BOUND = 3e-5

const weights = encoderWeights(laya)
const inputs = layaInputs()
const texts = inputs.map(({ tokens, marks, kind }): TextTokens => ({ tokens, marks, types: tokens.map(() => kind) }))
const truth = inputs.map((input) => laya.reference(weights, input))

const opened = async (path: string): Promise<WeightSource> => {
  const options = { report: () => {}, signal: new AbortController().signal } as const
  return (await openRepository({ kind: 'folder', path }, options)).weights
}

const folder = ownFolder()
let source: WeightSource
beforeAll(async () => {
  await writeLaya(join(folder, 'laya'))
  source = await opened(join(folder, 'laya'))
})

const scoresOf = async (device: Device, from: WeightSource, batch: readonly TextTokens[]) => {
  const plan = planEncoderLoad(from, device, { name: 'test/laya' })
  expect(plan).toMatchObject({ task: 'decide', decision: { headTokens: 192 } })
  const model = await loadEncoderPlanned(device, from, plan)
  const together = await model.vectors(batch)
  const alone = await model.vectors(batch.slice(1, 2))
  await model.close()
  return { together, alone }
}

describe.each(DECIDING_DEVICES)('a decision model on $name', ({ open }) => {
  it('scores options as in float64, several questions side by side and each alone', async () => {
    const device = await open()
    const { together, alone } = await scoresOf(device, source, texts)
    together.forEach((scores, i) => {
      expect(scores).toHaveLength(inputs[i]!.marks.length)
      expect(furthest(scores, truth[i]!)).toBeLessThan(BOUND)
    })
    expect(furthest(alone[0]!, truth[1]!)).toBeLessThan(BOUND)
    expect(alone[0]).toEqual(together[1])
    device.destroy()
  })
})

describe('a decision model on the CPU', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each(laya.mistakes)('that %s would be found out', (mistake) => {
    // By the first that shows it: of the others nothing more is learned.
    const isFar = (scores: ArrayLike<number>, i: number) => furthest(scores, truth[i]!) > 10 * BOUND
    expect(inputs.slice(0, 3).some((input, i) => isFar(laya.reference(weights, input, mistake), i))).toBe(true)
  })

  it('is the same from a GGUF file', async () => {
    const path = join(folder, 'laya.gguf')
    await writeGguf(path, laya, weights)
    const { together } = await scoresOf(device, await opened(path), texts)
    together.forEach((scores, i) => {
      expect(furthest(scores, truth[i]!)).toBeLessThan(BOUND)
    })
  })

  it('gives back all that it took', async () => {
    const before = device.memory
    await scoresOf(device, source, texts)
    expect(device.memory).toEqual(before)
  })

  it.each([
    ['another way to read a question', /readout = "hybrid"/, { readout: 'hybrid' }],
    ['a temperature that is none', /temperature = \[1,-1,1\]/, { temperature: [1, -1, 1] }],
    ['more layers than there are', /no tensor head\.layers\.2\./, { head_layers: 3 }],
    ['fewer layers than there are', /head\.layers\.1\..* would not be used/, { head_layers: 1 }],
  ])('%s is refused by name', (_, message, change) => {
    expect(() => planEncoderLoad({ ...source, decision: { ...laya.agent, ...change } }, device)).toThrow(message)
  })

  it.each([
    ['another type', /type "openjev" over modern-bert .* cannot be run/, ['decision.type', 'openjev']],
    ['what nobody knows of decisions', /decision\.pointer is not known/, ['decision.pointer', 'a']],
  ] as const)('a GGUF file with %s is refused by name', async (_, message, [key, value]) => {
    const path = join(folder, 'odd.gguf')
    const metadata: typeof laya.gguf.metadata = (out) => {
      laya.gguf.metadata(out)
      out.text(`modern-bert.${key}`, value)
    }
    await writeGguf(path, { ...laya, gguf: { ...laya.gguf, metadata } }, weights)
    await expect(opened(path)).rejects.toThrow(message)
  })
})
