import { isRecord } from '../../../platform/index.js'
import { damaged } from '../failure.js'
import type { RepositoryFiles } from '../files.js'
import { assertKeysOnce, parseJson } from '../json.js'
import { type PlainType, SIZES } from '../source.js'
import { assertNoOverlap } from './places.js'

export interface StoredTensor {
  readonly name: string
  readonly shape: readonly number[]
  /** As the file names its type. */
  readonly kind: string
  /** Undefined: a type that cannot be read. */
  readonly dtype: PlainType | undefined
  readonly file: string
  readonly from: number
  readonly to: number
}

export interface Header {
  readonly tensors: readonly StoredTensor[]
  /** Of the whole file. */
  readonly bytes: number
}

const TYPES: Readonly<Record<string, PlainType | undefined>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' }
const MOST_SIDES = 8
/** A hundred thousand tensors take that; more would take more memory than it is worth to read. */
const MOST_HEADER = 8 * 2 ** 20

/** Reads where the tensors of one file stand: eight bytes of length, JSON of that length, the data. */
export async function readHeader(files: RepositoryFiles, file: string, signal: AbortSignal): Promise<Header> {
  const first = await exactly(files, file, 0, 8, signal)
  const length = new DataView(first.buffer, first.byteOffset).getBigUint64(0, true)
  if (length > BigInt(MOST_HEADER)) {
    throw damaged(files.place, `${file} is not in the safetensors format: its header would have ${length} bytes.`)
  }
  const start = 8 + Number(length)
  const text = new TextDecoder().decode(await exactly(files, file, 8, start, signal))
  assertKeysOnce(files.place, file, text)
  const entries = Object.entries(parseJson(files.place, file, text)).filter(([name]) => name !== '__metadata__')
  const tensors = entries.map(([name, entry]) => readEntry(files.place, file, start, name, entry))
  assertNoOverlap(files.place, file, tensors)
  return { tensors, bytes: tensors.reduce((end, { to }) => Math.max(end, to), start) }
}

async function exactly(files: RepositoryFiles, file: string, from: number, to: number, signal: AbortSignal) {
  const bytes = await files.head(file, from, to, signal)
  if (bytes.length === to - from) return bytes
  throw damaged(files.place, `${file} ends at byte ${from + bytes.length}, in its header.`)
}

function readEntry(place: string, file: string, start: number, name: string, entry: unknown): StoredTensor {
  const { dtype: kind, shape, data_offsets: offsets } = isRecord(entry) ? entry : {}
  if (!isSizes(shape) || !isSizes(offsets) || offsets.length !== 2) {
    throw damaged(place, `tensor ${name} in ${file} lacks a shape or a place.`)
  }
  const [from, to] = offsets as [number, number]
  const dtype = Object.hasOwn(TYPES, String(kind)) ? TYPES[String(kind)] : undefined
  const needed = dtype ? shape.reduce((product, side) => product * side, SIZES[dtype]) : to - from
  if (to - from !== needed || needed < 0) {
    throw damaged(place, `tensor ${name} needs ${needed} bytes and has ${to - from}.`)
  }
  return { name, shape, kind: String(kind), dtype, file, from: start + from, to: start + to }
}

const isSizes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length <= MOST_SIDES && value.every((side) => Number.isSafeInteger(side) && side >= 0)
