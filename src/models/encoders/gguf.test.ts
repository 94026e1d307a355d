import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bge, minilm } from '../../../test/oracles/encoders/bert.js'
import { bertClasses, CROSS_ENCODERS } from '../../../test/oracles/encoders/cross.js'
import { type EncoderCase, inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { mmBert, modernBert } from '../../../test/oracles/encoders/modern-bert.js'
import { encoderTruth, encoderWeights, tensorsOf } from '../../../test/oracles/encoders/source.js'
import { llama } from '../../../test/oracles/families/llama.js'
import { writeGguf } from '../../../test/oracles/files/gguf.js'
import { Random } from '../../../test/oracles/random.js'
import { throughQ4_0 } from '../../../test/oracles/rounded.js'
import { weightsOf } from '../../../test/oracles/weights.js'
import { FULL } from '../../../test/support/full.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DEVICES } from '../../device/operations/devices.test-helper.js'
import { writeMade } from '../../engines/webgpu/made.test-helper.js'
import { GREEDY } from '../../generate/answer/sampling.js'
import { openRepository } from '../files/open.js'
import { loadCore } from '../load.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'
import { expectVectors } from './vectors.test-helper.js'

/** As in `encoders.test.ts`. */
const SCORES = 3e-5

/** The cases as llama.cpp's converter writes them, in f32; `check:gguf` holds them to llama.cpp in every type. */
describe('encoders from GGUF files on the CPU', () => {
  const folder = ownFolder()
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  async function opened(of: EncoderCase) {
    const path = join(folder, 'model.gguf')
    await writeGguf(path, of, encoderWeights(of))
    const options = { report: () => {}, signal: new AbortController().signal } as const
    return (await openRepository({ kind: 'folder', path }, options)).weights
  }

  it.each([minilm, bge, modernBert, mmBert])(
    '$name: pooled as the file says, vectors are those of float64',
    async (of) => {
      await expectVectors(device, await opened(of), of)
    },
  )

  it.each(CROSS_ENCODERS)('$name: scores are those of float64', async (of) => {
    const source = await opened(of)
    const plan = planEncoderLoad(source, device)
    expect(plan.task).toBe('rank')
    const model = await loadEncoderPlanned(device, source, plan)
    const scores = await model.vectors(of.pairs)
    of.pairs.forEach((pair, i) => {
      expect(Math.abs(scores[i]![0]! - encoderTruth(of, pair)[0]!)).toBeLessThan(SCORES)
    })
    await model.close()
  })

  it('classes are called what the file calls them', async () => {
    const source = await opened(bertClasses)
    const plan = planEncoderLoad(source, device)
    expect(plan).toMatchObject({ task: 'classify', classes: { labels: ['joy', 'anger', 'fear'], several: false } })
    const model = await loadEncoderPlanned(device, source, plan)
    const [scores] = await model.vectors(bertClasses.pairs)
    const truth = encoderTruth(bertClasses, bertClasses.pairs[0]!)
    for (const [k, score] of truth.entries()) expect(Math.abs(scores![k]! - score)).toBeLessThan(SCORES)
    await model.close()
  })

  it.each<[string, number | undefined, RegExp]>([
    ['no pooling', 0, /bert\.pooling_type is 0/],
    ['a pooling of another number', 9, /bert\.pooling_type is 9/],
  ])('%s is refused by name', async (_, type, message) => {
    const gguf = {
      ...minilm.gguf!,
      metadata(out: Parameters<NonNullable<EncoderCase['gguf']>['metadata']>[0]) {
        minilm.gguf!.metadata(out)
        out.u32('bert.pooling_type', type!)
      },
    }
    await expect(opened({ ...minilm, gguf })).rejects.toThrow(message)
  })
})

// `encoders.test.ts` has encoders on GPUs, and `blocks.test.ts` has them there in other blocks.
describe.each(DEVICES.filter(({ name }) => (FULL ? /software|exact/ : /exact/).test(name)))(
  'an encoder in blocks on $name',
  ({ open }) => {
    it('has vectors as in float64', async () => {
      const shapes = new Map(tensorsOf(minilm).map(({ name, shape }) => [name, shape]))
      const weights = encoderWeights(minilm)
      const rounded: typeof weights = (name) => {
        const [, columns = 1] = shapes.get(name)!
        return columns % 32 === 0 ? throughQ4_0(weights(name)) : weights(name)
      }
      const folder = await mkdtemp(join(tmpdir(), 'local-v1-'))
      const path = join(folder, 'blocks.gguf')
      await writeGguf(path, minilm, rounded, 'Q4_0')
      const options = { report: () => {}, signal: new AbortController().signal } as const
      const { weights: source } = await openRepository({ kind: 'folder', path }, options)
      const forms = new Set(source.names.map((name) => source.describe(name).dtype))
      expect(forms).toEqual(new Set(['q4_0', 'f32']))
      const device = await open()
      await expectVectors(device, source, minilm, { weights: rounded, inputs: inputsOf(minilm).slice(0, 2) })
      device.destroy()
      await rm(folder, { recursive: true })
    })
  },
)

/** Of a decoder that was made for decisions: `made.test.ts` has what becomes of them. */
describe.each(DEVICES.filter(({ cases, name }) => cases === 'few' || name === 'cpu'))(
  'a head of rows on $name',
  ({ open }) => {
    it('makes those of float64 in place of logits', { timeout: 300_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'local-v1-'))
      const path = join(folder, 'model.gguf')
      const [hidden, length] = [Number(llama.config.hidden_size), 24]
      const random = new Random('a head of rows')
      const some = (count: number) => Float64Array.from({ length: count }, () => Math.fround(random.normal() / 8))
      const [head, bias] = [some(length * hidden), some(length)]
      await writeMade(path, {
        ...{ of: llama, type: 'kev', template: 'x', texts: ['x'] },
        metadata: (out) => out.u32('llama.embedding_length_out', length),
        tensors: [
          { name: 'cls.output.weight', dims: [hidden, length], values: head },
          { name: 'cls.output.bias', dims: [length], values: bias },
        ],
      })
      const weights = weightsOf(llama)
      const reference = llama.reference((tensor) => (tensor === 'lm_head.weight' ? head : weights(tensor)))
      const tokens = [5, 300, 77, 9]
      const truth = tokens.map((token) => reference.step(token)).map((row) => row.map((value, i) => value + bias[i]!))
      const device = await open()
      const options = { report: () => {}, signal: new AbortController().signal } as const
      const core = await loadCore(device, (await openRepository({ kind: 'folder', path }, options)).weights)
      expect(core.rowLength).toBe(length)
      const [one, other] = [core.open(), core.open()]
      const results = await core.step([
        { sequence: one, tokens, sample: GREEDY },
        { sequence: other, tokens: tokens.slice(0, 2), sample: GREEDY },
      ])
      for (const [i, of] of [truth[3]!, truth[1]!].entries()) {
        expect(results[i]!.row).toHaveLength(length)
        for (const [k, value] of of.entries()) expect(Math.abs(results[i]!.row![k]! - value)).toBeLessThan(1e-3)
      }
      await core.close()
      device.destroy()
      await rm(folder, { recursive: true })
    })
  },
)
