import { toFloats } from '../model/tensors.js'
import { broken } from './failure.js'
import { fetchAll } from './fetch-all.js'
import type { RepositoryFiles, WantedFile } from './files.js'
import { digestOf, isRecord, type Json, parseJson } from './json.js'
import type { Report } from './progress.js'
import { quantize } from './quantize.js'
import { isQuantizable, renamed } from './rename.js'
import { readHeader, type StoredTensor } from './safetensors-header.js'
import type { RawTensor, WeightSource } from './source.js'

export interface SafetensorsOptions {
  readonly report: Report
  readonly signal: AbortSignal
  readonly quantize?: 'q4f16_1'
}

type Description = Omit<RawTensor, 'data'>

/** What the decoder asks for: one stored tensor, several put one below the other, or the codes or scales of those. */
interface Offered extends Description {
  readonly parts: readonly StoredTensor[]
  readonly as: 'stored' | 'codes' | 'scales'
}

const INDEX = 'model.safetensors.index.json'
const SINGLE = 'model.safetensors'

/** Plain weights as transformers writes them, under MLC's names. */
export async function openSafetensors(
  files: RepositoryFiles,
  config: Json,
  { report, signal, quantize: quantization }: SafetensorsOptions,
): Promise<WeightSource> {
  const wanted = await filesOf(files, signal)
  await fetchAll(files, wanted, report, signal)
  const stored = (await Promise.all(wanted.map(({ name }) => readHeader(files, name)))).flat()
  const offered = offer(files.place, stored, config.model_type, quantization !== undefined)
  const find = (name: string): Offered => {
    const found = offered.get(name)
    if (!found) throw broken(files.place, `it has no tensor ${name}.`)
    return found
  }
  // Codes and scales are asked for one after the other: the work is done once for both.
  let last: { readonly of: string; readonly codes: Uint8Array; readonly scales: Uint8Array } | undefined
  return {
    chatConfig: config,
    names: [...offered.keys()],
    has: (name) => offered.has(name),
    describe: (name) => describe(find(name)),
    digest: digestOf(JSON.stringify(config), JSON.stringify(stored), quantization ?? ''),
    async read(name, reading) {
      reading?.throwIfAborted()
      const tensor = find(name)
      if (tensor.as === 'stored') return { ...describe(tensor), data: await bytesOf(files, tensor.parts) }
      const of = tensor.parts[0]!.name
      if (last?.of !== of) {
        const { dtype } = tensor.parts[0]!
        const values = toFloats({ name, shape: [], dtype, data: await bytesOf(files, tensor.parts) })
        last = { of, ...quantize(values) }
      }
      return { ...describe(tensor), data: last[tensor.as] }
    },
  }
}

const describe = ({ name, shape, dtype }: Description): Description => ({ name, shape, dtype })

async function filesOf(files: RepositoryFiles, signal: AbortSignal): Promise<WantedFile[]> {
  const text = await files.text(INDEX, signal)
  if (text === undefined) return [{ name: SINGLE }]
  const { weight_map: map } = parseJson(files.place, INDEX, text)
  if (!isRecord(map)) throw broken(files.place, `${INDEX} has no weight_map.`)
  return [...new Set(Object.values(map).map(String))].map((name) => ({ name }))
}

function offer(
  place: string,
  stored: readonly StoredTensor[],
  modelType: unknown,
  quantized: boolean,
): Map<string, Offered> {
  const groups = new Map<string, StoredTensor[]>()
  const sizes = new Map<string, number>()
  for (const tensor of stored) {
    const target = renamed(tensor.name, modelType)
    if (!target) continue
    const parts = groups.get(target.name) ?? []
    parts[target.part] = tensor
    groups.set(target.name, parts)
    sizes.set(target.name, target.of)
  }
  const offered = new Map<string, Offered>()
  for (const [name, parts] of groups) {
    const missing = Array.from({ length: sizes.get(name)! }).findIndex((_, part) => parts[part] === undefined)
    if (missing >= 0) throw broken(place, `part ${missing + 1} of ${name} is missing.`)
    for (const tensor of forms(place, name, parts, quantized)) offered.set(tensor.name, tensor)
  }
  return offered
}

function forms(place: string, name: string, parts: readonly StoredTensor[], quantized: boolean): Offered[] {
  const [first] = parts
  const same = parts.every(
    ({ dtype, shape }) => dtype === first!.dtype && shape.slice(1).join() === first!.shape.slice(1).join(),
  )
  if (!same) throw broken(place, `the parts of ${name} differ in type or width.`)
  const rows = parts.reduce((sum, { shape }) => sum + (shape[0] ?? 1), 0)
  const shape = [rows, ...first!.shape.slice(1)]
  if (!quantized || !isQuantizable(name, shape)) return [{ name, shape, dtype: first!.dtype, parts, as: 'stored' }]
  const base = name.slice(0, -'.weight'.length)
  const columns = shape[1]!
  return [
    { name: `${base}.q_weight`, shape: [rows, columns / 8], dtype: 'u32', parts, as: 'codes' },
    { name: `${base}.q_scale`, shape: [rows, columns / 32], dtype: 'f16', parts, as: 'scales' },
  ]
}

async function bytesOf(files: RepositoryFiles, parts: readonly StoredTensor[]): Promise<Uint8Array> {
  const slices = await Promise.all(parts.map(({ file, from, to }) => files.slice(file, from, to)))
  if (slices.length === 1) return slices[0]!
  const whole = new Uint8Array(slices.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const slice of slices) {
    whole.set(slice, at)
    at += slice.length
  }
  return whole
}
