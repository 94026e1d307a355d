/** BERT as MLC stores it, by the names of `python/mlc_llm/model/bert` (July 2026): snowflake-arctic-embed of WebLLM's list. */
import { expect, it } from 'vitest'
import { bge } from '../../../test/oracles/encoders/bert.js'
import { encoderSource } from '../../../test/oracles/encoders/source.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import type { JsonObject } from '../../platform/json.js'
import type { RawTensor, WeightSource } from '../files/source.js'
import { planEncoderLoad } from './load-encoder.js'
import { expectVectors } from './vectors.test-helper.js'

const FUSED = ['query', 'key', 'value'] as const

function mlcBert(metadata?: JsonObject): WeightSource {
  const { sentence: _, ...plain } = encoderSource(bge, 'f32')
  const stored = new Map<string, () => Promise<RawTensor>>()
  for (const first of plain.names) {
    if (/self\.(key|value)\./.test(first)) continue
    const parts = first.includes('self.query.') ? FUSED.map((part) => first.replace('query', part)) : [first]
    const name = first.replace('self.query.', 'self.qkv.')
    stored.set(name, async () => {
      const read = await Promise.all(parts.map((part) => plain.read(part)))
      const data = new Uint8Array(read.flatMap(({ data }) => [...data]))
      const [rows, ...rest] = read[0]!.shape
      return { name, dtype: 'f32', shape: [rows! * parts.length, ...rest], data }
    })
  }
  const described = new Map<string, Omit<RawTensor, 'data'>>()
  for (const name of stored.keys()) {
    const { shape } = plain.describe(name.replace('self.qkv.', 'self.query.'))
    const rows = shape[0]! * (name.includes('self.qkv.') ? 3 : 1)
    described.set(name, { name, dtype: 'f32', shape: [rows, ...shape.slice(1)] })
  }
  const {
    model_type,
    max_position_embeddings: context_window_size,
    architectures: _a,
    ...rest
  } = bge.config as JsonObject
  return {
    chatConfig: {
      model_type,
      vocab_size: bge.config.vocab_size,
      model_config: { ...rest, context_window_size, position_offset: 0, tensor_parallel_shards: 1 },
      ...(metadata && { embedding_metadata: metadata }),
    },
    names: [...stored.keys()],
    has: (name) => stored.has(name),
    describe: (name) => described.get(name)!,
    read: (name) => stored.get(name)!(),
    digest: 'bert of MLC',
  }
}

it('BERT of MLC takes the first token, as that of transformers that says so', async () => {
  const device = await openCpuDevice({ threads: 1 })
  for (const metadata of [undefined, { model_type: 'encoder', pooling_strategy: 'cls', normalize: true }]) {
    await expectVectors(device, mlcBert(metadata), bge)
  }
  const odd = (metadata: JsonObject) => () => planEncoderLoad(mlcBert(metadata), device)
  expect(odd({ pooling_strategy: 'max' })).toThrow('pooling_strategy = "max"')
  expect(odd({ pooling_strategy: 'mean', normalize: false })).toThrow('normalize = false')
  device.destroy()
})
