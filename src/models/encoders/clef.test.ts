import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { clef, clefInputs, headScores } from '../../../test/oracles/encoders/clef.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { TextTokens } from '../../contract/vector-model.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DECIDING_DEVICES } from '../../device/operations/devices.test-helper.js'
import { type MadeUp, writeMade } from '../../engines/webgpu/made.test-helper.js'
import { openRepository } from '../files/open.js'
import { made } from './clef.test-helper.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'
import { furthest } from './vectors.test-helper.js'

/** Of a score: what sums in f32 may lose. */
const BOUND = 3e-5

const weights = weightsOf(clef)
const inputs = clefInputs()
const texts: readonly TextTokens[] = inputs
/** What is under the head is the same whatever goes wrong in it. */
const rows = inputs.map((input) => clef.rows(weights, input))
const scored = (mistake?: string) => inputs.map((input, i) => headScores(weights, rows[i]!, input, mistake))
const truth = scored()
const worstOf = (all: readonly ArrayLike<number>[]) => Math.max(...all.map((own, i) => furthest(own, truth[i]!)))

const folder = ownFolder()
let path: string
beforeAll(async () => {
  path = join(folder, 'clef.gguf')
  await writeMade(path, made())
})

const planned = async (device: Device, file: string) => {
  const options = { report: () => {}, signal: new AbortController().signal } as const
  const { weights: source } = await openRepository({ kind: 'folder', path: file }, options)
  return { source, plan: planEncoderLoad(source, device, { name: 'test/clef' }) }
}

describe.each(DECIDING_DEVICES)('clef on $name', ({ open }) => {
  it('scores options as in float64, several texts side by side and each alone', async () => {
    const device = await open()
    const before = device.memory
    const { source, plan } = await planned(device, path)
    expect(plan).toMatchObject({ task: 'decide', decision: { type: 'clef' } })
    const model = await loadEncoderPlanned(device, source, plan)
    if (device.info.kind === 'cpu') expect(device.memory.bytes - before.bytes).toBeLessThan(plan.size.bytes.total)
    const alone = await model.vectors(texts.slice(1, 2))
    const reply = await model.vectors(texts)
    await model.close()
    expect(furthest(alone[0]!, truth[1]!)).toBeLessThan(BOUND)
    expect(reply.map(({ length }) => length)).toEqual(truth.map(({ length }) => length))
    expect(worstOf(reply)).toBeLessThan(BOUND)
    expect(alone[0]).toEqual(reply[1])
    if (device.info.kind === 'cpu') expect(device.memory).toEqual(before)
    device.destroy()
  }, 300_000)
})

it('that clef forgets the last norm under the head would be found out', () => {
  const [input] = inputs
  const off = furthest(clef.scores(weights, input!, 'forgets the last norm under the head'), truth[0]!)
  expect(off).toBeGreaterThan(10 * BOUND)
})

it.each(clef.mistakes.slice(1))('that clef %s would be found out', (mistake) => {
  expect(worstOf(scored(mistake))).toBeGreaterThan(10 * BOUND)
})

const gguf = clef.gguf
const without = (name: string): MadeUp['of'] => ({
  ...clef,
  gguf: { ...gguf, tensors: (all) => gguf.tensors(all).filter((one) => !one.name.startsWith(name)) },
})

it('says words as it reads them where the file has them once', async () => {
  const tied = join(folder, 'tied.gguf')
  await writeMade(tied, made({ of: without('output.weight') }))
  const device = await openCpuDevice({ threads: 1 })
  const { source, plan } = await planned(device, tied)
  const model = await loadEncoderPlanned(device, source, plan)
  const [scores] = await model.vectors(texts.slice(1, 2))
  await model.close()
  device.destroy()
  expect(furthest(scores!, scored('says words as it reads them')[1]!)).toBeLessThan(BOUND)
})

it.each([
  [
    'of other norms',
    made({ metadata: (out) => out.float('clef.attention.layer_norm_epsilon', 1e-3) }),
    /epsilon is 0\.001/,
  ],
  ['of odd heads', made({ metadata: (out) => out.u32('clef.decision.head_count', 3) }), /decision\.head_count/],
  ['without its scales', made({ of: without('decision.scales') }), /no tensor decision\.scales/],
  ['without its rows', made({ of: without('decision.proj_memory') }), /no tensor decision\.proj_memory\.weight/],
] as const)('a file that is %s is refused by name', async (_, file, message) => {
  const odd = join(folder, 'odd.gguf')
  await writeMade(odd, file)
  const device = await openCpuDevice({ threads: 1 })
  await expect(planned(device, odd)).rejects.toThrow(message)
  device.destroy()
})
