import { broken } from './failure.js'
import type { RepositoryFiles } from './files.js'
import { isRecord, parseJson } from './json.js'
import type { TensorType } from './source.js'

export interface StoredTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: TensorType
  readonly file: string
  readonly from: number
  readonly to: number
}

const TYPES: Readonly<Record<string, TensorType>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' }
const SIZES: Readonly<Record<TensorType, number>> = { f32: 4, f16: 2, bf16: 2, u32: 4 }
const MOST_HEADER = 100 * 2 ** 20

/** Reads where the tensors of one file stand: eight bytes of length, JSON of that length, the data. */
export async function readHeader(files: RepositoryFiles, file: string): Promise<StoredTensor[]> {
  const length = new DataView((await files.slice(file, 0, 8)).buffer).getBigUint64(0, true)
  if (length > BigInt(MOST_HEADER)) throw broken(files.place, `${file} is not in the safetensors format.`)
  const start = 8 + Number(length)
  const text = new TextDecoder().decode(await files.slice(file, 8, start))
  const tensors: StoredTensor[] = []
  for (const [name, entry] of Object.entries(parseJson(files.place, file, text))) {
    if (name === '__metadata__') continue
    tensors.push(readEntry(files.place, file, start, name, entry))
  }
  return tensors
}

function readEntry(place: string, file: string, start: number, name: string, entry: unknown): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {}
  const type = TYPES[String(dtype)]
  if (!type) throw broken(place, `tensor ${name} has the type ${String(dtype)}; F32, F16 and BF16 can be read.`)
  if (!isSizes(shape) || !isSizes(offsets) || offsets.length !== 2) {
    throw broken(place, `tensor ${name} in ${file} lacks a shape or a place.`)
  }
  const [from, to] = offsets as [number, number]
  const needed = shape.reduce((product, side) => product * side, SIZES[type])
  if (to - from !== needed) throw broken(place, `tensor ${name} needs ${needed} bytes and has ${to - from}.`)
  return { name, shape, dtype: type, file, from: start + from, to: start + to }
}

const isSizes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((side) => Number.isSafeInteger(side) && side >= 0)
