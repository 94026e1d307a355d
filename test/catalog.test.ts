import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelGuide } from '../scripts/model-guide.js'
import { prebuiltRecords } from '../scripts/webllm/records.js'
import { FAMILIES } from '../src/bench/families.js'
import { SHAPES, syntheticSource } from '../src/bench/shapes.js'
import { syntheticWeights } from '../src/bench/synthetic.js'
import type { Device } from '../src/device/contract.js'
import { openCpuDevice } from '../src/device/cpu/index.js'
import { planLoad } from '../src/engines/webgpu/loaded-model.js'
import { offeredModel } from '../src/engines/webgpu/location.js'
import { TOOL_FORMATS } from '../src/generate/tools/formats.js'
import { CATALOG, type CatalogModel, NANO } from '../src/models/catalog.js'
import { openRepository } from '../src/models/files/open.js'
import type { TensorType, WeightOutline } from '../src/models/files/source.js'
import { type BertShape, bertConfig, bertTensors, sentenceFiles } from './oracles/encoders/bert.js'
import { LAYA_SHAPE, layaTensors, TEMPLATE } from './oracles/encoders/laya.js'
import { modernConfig } from './oracles/encoders/modern-bert.js'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Form {
  readonly bits: number
  /** As it lies in the file; absent: in our own 4 bits. */
  readonly dtype?: TensorType
}

/** How the matrices of a shape are stored: of GGUF's Q4_0 the embeddings, which are the head too, are Q6_K. */
const FORMS: Readonly<Record<string, { readonly matrices: Form; readonly embedding: Form }>> = {
  'MLC q4f16_1': { matrices: { bits: 4.5 }, embedding: { bits: 4.5 } },
  'MLC q0f16': { matrices: { bits: 16, dtype: 'f16' }, embedding: { bits: 16, dtype: 'f16' } },
  'GGUF Q4_0': { matrices: { bits: 4.5, dtype: 'q4_0' }, embedding: { bits: 6.5625, dtype: 'q6_k' } },
}

const EMBEDDING = 'model.embed_tokens'
const product = (shape: readonly number[]) => shape.reduce((all, side) => all * side, 1)

/** A shape as the loader sees a file of this format. */
function stored(shape: string, format: string): { outline: WeightOutline; bytes: number } {
  const source = FAMILIES[shape] ? syntheticWeights(FAMILIES[shape]()) : syntheticSource(SHAPES[shape]!)
  const { matrices, embedding } = FORMS[format]!
  const shapes = new Map<string, ReturnType<WeightOutline['describe']>>()
  let bytes = 0
  for (const name of source.names) {
    const base = name.replace(/\.q_(weight|scale)$/, '')
    const { bits, dtype } = base === EMBEDDING ? embedding : matrices
    const found = source.describe(name)
    if (name.endsWith('.q_weight')) bytes += (product(found.shape) * 8 * bits) / 8
    else if (!name.endsWith('.q_scale')) bytes += product(found.shape) * 2
    if (base === name || dtype === undefined) shapes.set(name, found)
    else if (name.endsWith('.q_weight')) {
      const plain = `${base}.weight`
      shapes.set(plain, { name: plain, dtype, shape: [found.shape[0]!, found.shape[1]! * 8] })
    }
  }
  return { outline: { ...source, names: [...shapes.keys()], describe: (name) => shapes.get(name)! }, bytes }
}

const BERT: Readonly<Record<string, Omit<BertShape, 'vocab' | 'positions' | 'types' | 'epsilon'>>> = {
  'BAAI/bge-small-en-v1.5': { hidden: 384, inner: 1536, layers: 12, heads: 12 },
  'cross-encoder/ms-marco-MiniLM-L6-v2': { hidden: 384, inner: 1536, layers: 6, heads: 12 },
}

function encoder({ id, use }: CatalogModel): { outline: WeightOutline; bytes: number } {
  const shape = { vocab: 30_522, positions: 512, types: 2, epsilon: 1e-12, ...BERT[id]! }
  const scores = use === 'scores'
  const vectors = [
    { name: 'pooler.dense.weight', shape: [384, 384] },
    { name: 'pooler.dense.bias', shape: [384] },
  ]
  const head = [
    { name: 'classifier.weight', shape: [1, 384] },
    { name: 'classifier.bias', shape: [1] },
  ]
  const all = [...bertTensors(shape), ...vectors].map(({ name, shape }) => ({
    name: `${scores ? 'bert.' : ''}${name}`,
    shape,
  }))
  const shapes = new Map([...all, ...(scores ? head : [])].map(({ name, shape }) => [name, shape]))
  const { '1_Pooling/config.json': pooling } = sentenceFiles('cls', 384)
  return {
    outline: {
      naming: 'huggingface',
      chatConfig: {
        ...bertConfig(shape),
        ...(scores && { architectures: ['BertForSequenceClassification'], id2label: { 0: 'LABEL_0' } }),
      },
      ...(!scores && {
        sentence: {
          modules: [
            { type: 'Transformer', path: '', config: {} },
            { type: 'Pooling', path: '1_Pooling', config: pooling },
          ],
          transformer: {},
          settings: {},
        },
      }),
      names: [...shapes.keys()],
      describe: (name) => ({ name, dtype: 'f32', shape: shapes.get(name)! }),
    },
    bytes: [...shapes.values()].reduce((sum, shape) => sum + 4 * product(shape), 0),
  }
}

/** ModernBERT-large and its head, as a GGUF file has them. */
function decider(): { outline: WeightOutline; bytes: number } {
  const large = { ...LAYA_SHAPE, vocab: 50_368, hidden: 1024, inner: 2624, layers: 28, heads: 16, positions: 8192 }
  const stored = layaTensors(large).filter(({ name }) => !/^act_head|^temperature/.test(name))
  const shapes = new Map(stored.map(({ name, shape }) => [name, shape]))
  const dtypeOf = (shape: readonly number[]) => (shape.length > 1 ? 'q8_0' : 'f32')
  return {
    outline: {
      naming: 'huggingface',
      chatConfig: modernConfig(large),
      decision: { head_layers: 2, head_max_len: 192, temperature_by_options: { choice: 1.5 }, systemone: TEMPLATE },
      names: [...shapes.keys()],
      describe: (name) => ({ name, shape: shapes.get(name)!, dtype: dtypeOf(shapes.get(name)!) }),
    },
    bytes: [...shapes.values()].reduce((sum, shape) => sum + product(shape) * (shape.length > 1 ? 34 / 32 : 4), 0),
  }
}

async function known(model: CatalogModel): Promise<{ outline: WeightOutline; bytes: number }> {
  if (model.shape !== undefined) return stored(model.shape, model.format)
  if (model.use === 'decisions') return decider()
  if (model.id !== NANO) return encoder(model)
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository({ kind: 'folder', path: `${root}models/nano` }, options)
  const bytes = weights.names.reduce((sum, name) => {
    const { shape, dtype } = weights.describe(name)
    return sum + product(shape) * (dtype === 'f16' ? 2 : 4)
  }, 0)
  return { outline: weights, bytes }
}

describe('the catalog', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each(CATALOG.map((model) => ({ name: model.name, model })))(
    '$name takes what the planner says, and its weights are of that size',
    async ({ model }) => {
      const { outline, bytes } = await known(model)
      const { id, contextLength, downloadBytes, memoryBytes, trainedContext } = model
      const plan = planLoad({ ...offeredModel(id), contextLength }, outline, device, 1)
      expect(plan.size.contextLength).toBe(contextLength)
      expect(trainedContext).toBeGreaterThanOrEqual(contextLength)
      const { bytes: planned } = plan.size
      const total = planned.total + ('host' in planned ? planned.host : 0)
      expect(Math.abs(memoryBytes / total - 1), `memoryBytes: ${Math.round(total / 1e6)} * MB`).toBeLessThan(0.02)
      // GGUF files have their vocabulary within, and a few tensors in more bits.
      const off = downloadBytes / bytes - 1
      expect(Math.abs(off), `downloadBytes: ${Math.round(bytes / 1e6)} * MB`).toBeLessThan(
        model.format.startsWith('GGUF') ? 0.05 : 0.02,
      )
    },
  )

  it('names every model as serve takes it, once', () => {
    expect(new Set(CATALOG.map(({ id }) => id)).size).toBe(CATALOG.length)
    for (const { from, id } of CATALOG) expect(offeredModel(from).id).toBe(id)
  })

  it('has of MLC what WebLLM lists, under the names that it gives', async () => {
    const listed = new Set((await prebuiltRecords()).map(({ model }) => model))
    for (const { id, format } of CATALOG) {
      if (id !== NANO && format.startsWith('MLC')) expect(listed).toContain(`https://huggingface.co/${id}`)
    }
  })

  it('knows tools by the formats that are read', () => {
    const formats = TOOL_FORMATS.map(({ name }) => name)
    for (const { tools } of CATALOG) if (tools !== undefined) expect(formats).toContain(tools)
  })

  it('is the table of the guide', () => {
    expect(readFileSync(`${root}docs/guides/models.md`, 'utf8')).toContain(modelGuide())
  })
})
