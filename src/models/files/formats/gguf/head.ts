/** What stands before the weights of a GGUF file: metadata, and where every tensor is. */
import { broken, damaged } from '../../failure.js'
import type { RepositoryFiles } from '../../files.js'
import { assertNoOverlap } from '../places.js'
import { Malformed, Reader, Short } from './reader.js'
import { typeOf } from './types.js'

export interface GgufTensor {
  readonly name: string
  /** Rows before columns, as everywhere here. */
  readonly shape: readonly number[]
  /** As `types.ts` numbers them. */
  readonly type: number
  readonly file: string
  readonly from: number
  readonly bytes: number
}

export type GgufMetadata = ReadonlyMap<string, unknown>

export interface GgufHead {
  readonly metadata: GgufMetadata
  readonly tensors: readonly GgufTensor[]
  /** The file is not whole with fewer. */
  readonly least: number
}

/** Vocabularies make heads of some megabytes. */
const FIRST = 1 << 20
const BEGINNING = 1 << 16
const MOST = 1 << 26
const MAGIC = 0x46554747

/** What llama.cpp takes too. */
const MOST_SIDES = 4
const ALIGNMENT = 32
/** What a key with its value takes at least, and a tensor with its place. */
const [LEAST_OF_KEY, LEAST_OF_TENSOR] = [13, 24]

export async function readHead(files: RepositoryFiles, file: string, signal: AbortSignal): Promise<GgufHead> {
  let requested = FIRST
  let bytes = await files.head(file, 0, requested, signal)
  for (;;) {
    const read = attempt(files.place, file, () => parse(files.place, file, bytes))
    if (!(read instanceof Short)) return read
    const { needed } = read
    if (needed > MOST) throw broken(files.place, `${file} says that its header has more than ${MOST} bytes.`)
    if (bytes.length < requested)
      throw damaged(files.place, `${file} is incomplete: it ends at byte ${bytes.length}, in its header.`)
    requested = Math.min(MOST, 4 * bytes.length)
    // What it says of itself is not believed before its last byte was seen.
    if (needed > requested && (await files.head(file, needed - 1, needed, signal)).length === 0)
      throw damaged(files.place, `${file} is incomplete: it ends before byte ${needed}, in its header.`)
    requested = Math.max(requested, needed)
    const more = await files.head(file, bytes.length, requested, signal)
    const joined = new Uint8Array(bytes.length + more.length)
    joined.set(bytes)
    joined.set(more, bytes.length)
    bytes = joined
  }
}

/** What the file says of itself before its vocabulary: writers put that last. */
export async function readBeginning(files: RepositoryFiles, file: string, signal: AbortSignal): Promise<GgufMetadata> {
  const reader = new Reader(await files.head(file, 0, BEGINNING, signal))
  const metadata = new Map<string, unknown>()
  attempt(files.place, file, () => readKeys(reader, metadata, counts(files.place, file, reader).keyCount))
  return metadata
}

/** What it returns, or how much more it needs. */
function attempt<T>(place: string, file: string, read: () => T): T | Short {
  try {
    return read()
  } catch (error) {
    if (error instanceof Short) return error
    if (error instanceof Malformed) throw damaged(place, `the header of ${file} cannot be read: ${error.message}.`)
    throw error
  }
}

function counts(place: string, file: string, reader: Reader): { tensorCount: number; keyCount: number } {
  const [magic, version] = [reader.u32(), reader.u32()]
  if (magic !== MAGIC) throw broken(place, `${file} is not a GGUF file.`)
  if (version !== 2 && version !== 3) {
    const swapped = version > 0xffff ? ', written for big-endian machines' : ''
    throw broken(place, `${file} is GGUF in version ${version}${swapped}; 2 and 3 can be read.`)
  }
  const [tensorCount, keyCount] = [reader.count(), reader.count()]
  return { tensorCount, keyCount }
}

function readKeys(reader: Reader, metadata: Map<string, unknown>, count: number): void {
  for (let i = 0; i < count; i++) {
    const key = reader.text()
    if (metadata.has(key)) throw new Malformed(`it has the key ${key.slice(0, 100)} twice`)
    metadata.set(key, reader.value(reader.u32()))
  }
}

function parse(place: string, file: string, bytes: Uint8Array): GgufHead {
  const reader = new Reader(bytes)
  const { tensorCount, keyCount } = counts(place, file, reader)
  reader.expect(1, keyCount * LEAST_OF_KEY + tensorCount * LEAST_OF_TENSOR)
  const metadata = new Map<string, unknown>()
  readKeys(reader, metadata, keyCount)
  reader.expect(tensorCount, LEAST_OF_TENSOR)
  const placed = Array.from({ length: tensorCount }, () => readPlace(reader))
  const alignment = metadata.get('general.alignment') ?? ALIGNMENT
  if (typeof alignment !== 'number' || !Number.isInteger(Math.log2(alignment)))
    throw new Malformed(`its general.alignment is ${String(alignment).slice(0, 40)}, which is not a power of two`)
  const start = Math.ceil(reader.at / alignment) * alignment
  const tensors = placed.map(({ name, dims, type, offset }): GgufTensor => {
    const { label, block, bytes: size } = typeOf(type)
    const [columns = 1] = dims
    if (columns % block !== 0) throw damaged(place, `tensor ${name} in ${file} has ${columns} columns in ${label}.`)
    const values = dims.reduce((product, side) => product * side, 1)
    const from = start + offset
    const length = (values / block) * size
    if (!Number.isSafeInteger(values) || !Number.isSafeInteger(from + length) || values === 0)
      throw damaged(place, `tensor ${name} in ${file} is [${[...dims].reverse().join('][')}] at byte ${from}.`)
    return { name, shape: [...dims].reverse(), type, file, from, bytes: length }
  })
  const ends = tensors.map(({ name, from, bytes: length }) => ({ name, from, to: from + length }))
  assertNoOverlap(place, file, ends)
  return { metadata, tensors, least: ends.reduce((end, { to }) => Math.max(end, to), start) }
}

function readPlace(reader: Reader) {
  const name = reader.text()
  const sides = reader.u32()
  if (sides > MOST_SIDES) throw new Malformed(`its tensor ${name.slice(0, 100)} has ${sides} sides`)
  const dims = Array.from({ length: sides }, () => reader.count())
  return { name, dims, type: reader.u32(), offset: reader.count() }
}
