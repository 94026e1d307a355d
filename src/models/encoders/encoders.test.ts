import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minilm } from '../../../test/oracles/encoders/bert.js'
import { bertClasses, CROSS_ENCODERS, modernClasses } from '../../../test/oracles/encoders/cross.js'
import { embeddingGemma, NO, qwen3Reranker, YES } from '../../../test/oracles/encoders/decoders.js'
import { distance, type EncoderCase, inputsOf } from '../../../test/oracles/encoders/encoder-case.js'
import { ENCODERS } from '../../../test/oracles/encoders/index.js'
import { modernBert } from '../../../test/oracles/encoders/modern-bert.js'
import { encoderSource, encoderTruth, encoderWeights } from '../../../test/oracles/encoders/source.js'
import type { Vector } from '../../../test/oracles/float64.js'
import { FULL } from '../../../test/support/full.js'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { DEVICES } from '../../device/operations/devices.test-helper.js'
import type { WeightSource } from '../files/source.js'
import { planModel } from '../plan-model.js'
import type { VectorCore } from '../vector-core.js'
import { readEncoder } from './bert.js'
import { loadEncoderPlanned, planEncoderLoad } from './load-encoder.js'
import { BOUND } from './vectors.test-helper.js'

const load = (device: Device, source: WeightSource, options = {}): Promise<VectorCore> =>
  loadEncoderPlanned(device, source, planEncoderLoad(source, device, options))

const truthOf = (of: EncoderCase): Vector[] => inputsOf(of).map((input) => encoderTruth(of, input))

describe.each(DEVICES)('encoders on $name', ({ name, open, cases: which }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  // Shaders in software take half a minute to compile for each: each way of cutting has one that the other has not, and
  // cross-encoders have BERT's where it is cut for hardware, `blocks.test.ts` where it is cut for software.
  const few = which === 'all' ? [modernBert] : [embeddingGemma]
  const onGpu = FULL ? [minilm, modernBert, embeddingGemma] : few
  it.each(name.startsWith('webgpu') ? onGpu : ENCODERS)(
    '$name: vectors are those of float64, alone and in company',
    async (of) => {
      const model = await load(device, encoderSource(of, 'f32'))
      const inputs = inputsOf(of)
      const together = await model.vectors(inputs)
      const truth = truthOf(of)
      const apart = device.info.kind === 'cpu' ? inputs : inputs.slice(1, 2)
      truth.forEach((vector, i) => {
        expect(distance(vector, together[i]!).worst).toBeLessThan(BOUND)
      })
      for (const input of apart) {
        const i = inputs.indexOf(input)
        const [alone] = await model.vectors([input])
        expect(distance(truth[i]!, alone!).worst).toBeLessThan(BOUND)
        expect(together[i]).toEqual(alone)
      }
      await model.close()
    },
  )
})

describe.each(DEVICES.filter(({ cases }) => cases === 'all'))('cross-encoders on $name', ({ name, open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each(name.startsWith('webgpu') ? [bertClasses] : [...CROSS_ENCODERS, bertClasses, modernClasses])(
    '$name: scores are those of float64',
    async (of) => {
      const { sentence: _, ...source } = encoderSource(of, 'f32')
      const model = await load(device, source)
      const scores = await model.vectors(of.pairs)
      of.pairs.forEach((pair, i) => {
        const truth = encoderTruth(of, pair)
        expect(scores[i]).toHaveLength(truth.length)
        for (const [k, score] of truth.entries()) expect(Math.abs(scores[i]![k]! - score)).toBeLessThan(3e-5)
      })
      await model.close()
    },
  )
})

describe('Qwen3-Reranker on the CPU', () => {
  it('scores by how much likelier it says yes than no', async () => {
    const of = qwen3Reranker
    const device = await openCpuDevice({ threads: 1 })
    const { sentence: _, ...source } = encoderSource(of, 'f32', (name) => `model.${name}`)
    const plan = planEncoderLoad(source, device, { name: 'Qwen/Qwen3-Reranker-0.6B' })
    expect(plan).toMatchObject({ task: 'rank', judges: true })
    // Under another name it is a model for chat.
    expect(() => planEncoderLoad(source, device, { name: 'Qwen/Qwen3-0.6B' })).toThrow(/does not say how/)
    const model = await loadEncoderPlanned(device, source, plan, { words: [YES, NO] })
    const inputs = inputsOf(of)
    const scores = await model.vectors(inputs)
    const weights = encoderWeights(of)
    inputs.forEach((input, i) => {
      const [truth] = of.reference(weights, input)
      expect(Math.abs(scores[i]![0]! - truth!)).toBeLessThan(1e-4)
      // Each by one of them: of the others nothing more is learned.
      for (const mistake of FULL || i === 0 ? of.mistakes : [])
        expect(Math.abs(of.reference(weights, input, mistake)[0]! - truth!)).toBeGreaterThan(1e-2)
    })
    await model.close()
    device.destroy()
  })
})

describe('encoders on the CPU', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  const mistaken = ENCODERS.flatMap((of) => of.mistakes.map((mistake) => ({ of, mistake, name: of.name })))
  const once = [...new Map(mistaken.map((one) => [one.mistake, one])).values()]
  it.each(FULL ? mistaken : once)('$name that $mistake would be found out', async ({ of, mistake }) => {
    const weights = encoderWeights(of)
    // By the first that shows it: of the other nothing more is learned.
    const isFar = (vector: Vector, i: number) => distance(truthOf(of)[i]!, vector).worst > 10 * BOUND
    expect([1, 2].some((i) => isFar(of.reference(weights, inputsOf(of)[i]!, mistake), i))).toBe(true)
  })

  it.each(ENCODERS)('$name in f16 is near', async (of) => {
    const model = await load(device, encoderSource(of, 'f16'))
    const vectors = await model.vectors(inputsOf(of))
    truthOf(of).forEach((vector, i) => {
      expect(distance(vector, vectors[i]!).worst).toBeLessThan(BOUND)
    })
    await model.close()
  })

  it('in four bits is what it says', async () => {
    const [of] = ENCODERS
    const model = await load(device, encoderSource(of!, 'f32'), { quantize: 'q4f16_1' })
    const vectors = await model.vectors(inputsOf(of!))
    truthOf(of!).forEach((vector, i) => {
      expect(distance(vector, vectors[i]!).cosine).toBeGreaterThan(0.95)
    })
    await model.close()
  })

  it.each(ENCODERS)('$name has no cache to keep in 8 bits', (of) => {
    const options = { name: 'test/it', cacheType: 'q8_0' } as const
    expect(() => planEncoderLoad(encoderSource(of, 'f32'), device, options)).toThrow(/^test\/it .*'q8_0'/)
  })

  it('a decoder that sees what follows makes no text', () => {
    const { sentence: _, ...source } = encoderSource(embeddingGemma, 'f32')
    expect(() => planModel(source, device, { name: 'test/it' })).toThrow(/use_bidirectional_attention/)
  })

  it('gives back all that it took', async () => {
    const before = device.memory
    const model = await load(device, encoderSource(ENCODERS[0]!, 'f32'))
    expect(device.memory.bytes).toBeGreaterThan(before.bytes)
    await model.close()
    expect(device.memory).toEqual(before)
  })

  const plain = encoderSource(ENCODERS[0]!, 'f32')

  it('with and without the prefix of a larger model, and with what nobody needs', async () => {
    const renamed = encoderSource(ENCODERS[0]!, 'f32', (name) => `bert.${name}`)
    const more = { ...renamed, names: [...renamed.names, 'cls.predictions.bias', 'bert.embeddings.position_ids'] }
    const [input] = inputsOf(ENCODERS[0]!)
    const [first, second] = [await load(device, plain), await load(device, more)]
    expect(await second.vectors([input!])).toEqual(await first.vectors([input!]))
    await first.close()
    await second.close()
  })

  const changed = (change: (source: WeightSource) => Partial<WeightSource>): (() => unknown) => {
    const source = plain
    return () => planEncoderLoad({ ...source, ...change(source) }, device, { name: 'test/it' })
  }
  const sentence = (source: WeightSource, pooling: object) => ({
    sentence: {
      ...source.sentence!,
      modules: source.sentence!.modules.map((each) =>
        each.type === 'Pooling' ? { ...each, config: { ...pooling } } : each,
      ),
    },
  })

  it.each([
    [
      'a LoRA',
      /a LoRA \(tensor encoder\.layer\.0\.output\.dense\.parametrizations\.weight\.0\.lora_A\) is not supported/,
      (source: WeightSource) => ({
        names: [...source.names, 'encoder.layer.0.output.dense.parametrizations.weight.0.lora_A'],
      }),
    ],
    [
      'a LoRA of the configuration alone',
      /lora_rank = 4/,
      (source: WeightSource) => ({ chatConfig: { ...source.chatConfig, lora_rank: 4 } }),
    ],
    [
      'a tensor that is missing',
      /no tensor encoder\.layer\.0\.output\.dense\.bias/,
      (source: WeightSource) => ({
        names: source.names.filter((name) => name !== 'encoder.layer.0.output.dense.bias'),
      }),
    ],
    [
      'a tensor of no use',
      /The tensor encoder\.layer\.9\.x would not be used/,
      (source: WeightSource) => ({
        names: [...source.names, 'encoder.layer.9.x'],
      }),
    ],
    [
      'a shape that does not fit',
      /is f32 \[192\]; the configuration requires \[96\]/,
      (source: WeightSource) => ({
        chatConfig: { ...source.chatConfig, intermediate_size: 96 },
        describe: (name: string) =>
          name.includes('intermediate') ? { ...source.describe(name), shape: [192] } : source.describe(name),
      }),
    ],
    [
      'positions that are relative',
      /position_embedding_type = "relative_key"/,
      (source: WeightSource) => ({
        chatConfig: { ...source.chatConfig, position_embedding_type: 'relative_key' },
      }),
    ],
    [
      'another activation',
      /hidden_act = "mish"/,
      (source: WeightSource) => ({
        chatConfig: { ...source.chatConfig, hidden_act: 'mish' },
      }),
    ],
    [
      'a field that nobody knows',
      /rope_theta = 10000/,
      (source: WeightSource) => ({
        chatConfig: { ...source.chatConfig, rope_theta: 10000 },
      }),
    ],
    [
      'two ways of pooling',
      /pooling_mode_cls_token and pooling_mode_mean_tokens/,
      (source: WeightSource) => sentence(source, { pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }),
    ],
    [
      'a way of pooling that is not known',
      /pooling_mode_max_tokens/,
      (source: WeightSource) => sentence(source, { pooling_mode_max_tokens: true }),
    ],
    [
      'modules that are not known',
      /the module LSTM/,
      (source: WeightSource) => ({
        sentence: {
          ...source.sentence!,
          modules: [...source.sentence!.modules, { type: 'LSTM', path: '3_LSTM', config: {} }],
        },
      }),
    ],
    ['no modules', /does not say how its rows become a vector/, () => ({ sentence: undefined })],
  ])('%s is refused by name, before the upload', (_, message, change) => {
    expect(changed(change)).toThrow(message)
  })
})

it.each([
  ['gelu', 'gelu_erf'],
  ['gelu_new', 'gelu'],
  ['relu', 'relu'],
  ['silu', 'silu'],
])('the activation that transformers calls %s is %s', (hidden_act, gate) => {
  expect(readEncoder({ ...encoderSource(minilm, 'f32').chatConfig, hidden_act }, 'it').gate).toBe(gate)
})
