import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { d1Omni, omniInputs } from '../../../test/oracles/encoders/d1-omni.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { TextTokens } from '../../contract/vector-model.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DECIDING_DEVICES } from '../../device/operations/devices.test-helper.js'
import { type MadeUp, writeMade } from '../../engines/webgpu/made.test-helper.js'
import { openRepository } from '../files/open.js'
import { made } from './d1-omni.test-helper.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'
import { furthest } from './vectors.test-helper.js'

/** Of a score: what sums in f32 may lose. */
const BOUND = 3e-5

const weights = weightsOf(d1Omni)
const inputs = omniInputs()
const texts = inputs.map(({ tokens, marks, kind }): TextTokens => ({ tokens, marks, types: tokens.map(() => kind) }))
const truth = inputs.map((input) => d1Omni.scores(weights, input))

const folder = ownFolder()
let path: string
beforeAll(async () => {
  path = join(folder, 'd1-omni.gguf')
  await writeMade(path, made())
})

const scoresOf = async (device: Device) => {
  const options = { report: () => {}, signal: new AbortController().signal } as const
  const { weights: source } = await openRepository({ kind: 'folder', path }, options)
  const plan = planEncoderLoad(source, device, { name: 'test/d1-omni' })
  expect(plan).toMatchObject({ task: 'decide', decision: { type: 'lfm2-d1-omni' } })
  const model = await loadEncoderPlanned(device, source, plan)
  const together = await model.vectors(texts)
  const alone = await model.vectors(texts.slice(1, 2))
  await model.close()
  return { together, alone }
}

describe.each(DECIDING_DEVICES)('d1-omni on $name', ({ open }) => {
  it('scores options as in float64, several questions side by side and each alone', async () => {
    const device = await open()
    const before = device.memory
    const { together, alone } = await scoresOf(device)
    together.forEach((scores, i) => {
      expect(scores).toHaveLength(inputs[i]!.marks.length)
      expect(furthest(scores, truth[i]!)).toBeLessThan(BOUND)
    })
    expect(furthest(alone[0]!, truth[1]!)).toBeLessThan(BOUND)
    expect(alone[0]).toEqual(together[1])
    if (device.info.kind === 'cpu') expect(device.memory).toEqual(before)
    device.destroy()
  })
})

it.each(d1Omni.mistakes)('that d1-omni %s would be found out', (mistake) => {
  // By the first that shows it: of the others nothing more is learned.
  const isFar = (scores: ArrayLike<number>, i: number) => furthest(scores, truth[i]!) > 10 * BOUND
  expect(inputs.some((input, i) => isFar(d1Omni.scores(weights, input, mistake), i))).toBe(true)
})

it.each([
  ['causal', (out) => out.flag('lfm2.attention.causal', true), /sees nothing after/],
  ['of other norms', (out) => out.float('lfm2.attention.layer_norm_epsilon', 1e-3), /layer_norm_epsilon is 0\.001/],
  ['without its head', undefined, /no tensor scorer\.3/],
] as const satisfies [string, MadeUp['metadata'] | undefined, RegExp][])(
  'a file that is %s is refused by name',
  async (_, metadata, message) => {
    const odd = join(folder, 'odd.gguf')
    const tensors: typeof d1Omni.gguf.tensors = (all) =>
      d1Omni.gguf.tensors(all).filter(({ name }) => metadata !== undefined || !name.startsWith('cls.output'))
    await writeMade(odd, made({ of: { ...d1Omni, gguf: { ...d1Omni.gguf, tensors } }, ...(metadata && { metadata }) }))
    const device = await openCpuDevice({ threads: 1 })
    const options = { report: () => {}, signal: new AbortController().signal } as const
    const planned = async () => {
      const { weights: source } = await openRepository({ kind: 'folder', path: odd }, options)
      return planEncoderLoad(source, device)
    }
    await expect(planned()).rejects.toThrow(message)
    device.destroy()
  },
)
