/** What stands before the weights of a GGUF file: metadata, and where every tensor is. */
import { broken } from '../../failure.js'
import type { RepositoryFiles } from '../../files.js'
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
const MOST = 1 << 28
const MAGIC = 0x46554747

export async function readHead(files: RepositoryFiles, file: string, signal: AbortSignal): Promise<GgufHead> {
  let bytes = await files.head(file, 0, FIRST, signal)
  for (;;) {
    try {
      return parse(files.place, file, bytes)
    } catch (error) {
      if (!(error instanceof Short)) throw error
    }
    if (bytes.length >= MOST) throw broken(files.place, `${file} has a head of more than ${MOST} bytes.`)
    const more = await files.head(file, bytes.length, 4 * bytes.length, signal)
    if (more.length === 0) throw broken(files.place, `${file} is cut: it ends at byte ${bytes.length}, in its head.`)
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
  try {
    readKeys(reader, metadata, counts(files.place, file, reader).keyCount)
  } catch (error) {
    if (!(error instanceof Short)) throw error
  }
  return metadata
}

/** More bytes are needed. */
class Short extends Error {}

function counts(place: string, file: string, reader: Reader): { tensorCount: number; keyCount: number } {
  const [magic, version] = [reader.u32(), reader.u32()]
  if (magic !== MAGIC) throw broken(place, `${file} is no GGUF file.`)
  if (version !== 2 && version !== 3) {
    const swapped = version > 0xffff ? ', written for big-endian machines' : ''
    throw broken(place, `${file} is GGUF in version ${version}${swapped}; 2 and 3 can be read.`)
  }
  const [tensorCount, keyCount] = [reader.count(), reader.count()]
  return { tensorCount, keyCount }
}

function readKeys(reader: Reader, metadata: Map<string, unknown>, count: number): void {
  for (let i = 0; i < count; i++) metadata.set(reader.text(), reader.value(reader.u32()))
}

function parse(place: string, file: string, bytes: Uint8Array): GgufHead {
  const reader = new Reader(bytes)
  const { tensorCount, keyCount } = counts(place, file, reader)
  const metadata = new Map<string, unknown>()
  readKeys(reader, metadata, keyCount)
  const placed = Array.from({ length: tensorCount }, () => ({
    name: reader.text(),
    dims: Array.from({ length: reader.u32() }, () => reader.count()),
    type: reader.u32(),
    offset: reader.count(),
  }))
  const alignment = Number(metadata.get('general.alignment') ?? 32)
  const start = Math.ceil(reader.at / alignment) * alignment
  const tensors = placed.map(({ name, dims, type, offset }): GgufTensor => {
    const { label, block, bytes: size } = typeOf(type)
    const [columns = 1] = dims
    if (columns % block !== 0) throw broken(place, `tensor ${name} in ${file} has ${columns} columns in ${label}.`)
    const values = dims.reduce((product, side) => product * side, 1)
    return { name, shape: [...dims].reverse(), type, file, from: start + offset, bytes: (values / block) * size }
  })
  return { metadata, tensors, least: tensors.reduce((end, { from, bytes }) => Math.max(end, from + bytes), start) }
}

/** Little-endian values, one after the other. */
class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #decoder = new TextDecoder()
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true)
  }

  /** A number of things; one beyond what can be counted is more than the file has. */
  count(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true))
  }

  text(): string {
    const length = this.count()
    const from = this.#take(length)
    return this.#decoder.decode(this.#bytes.subarray(from, from + length))
  }

  value(type: number): unknown {
    const view = this.#view
    switch (type) {
      case 0:
        return view.getUint8(this.#take(1))
      case 1:
        return view.getInt8(this.#take(1))
      case 2:
        return view.getUint16(this.#take(2), true)
      case 3:
        return view.getInt16(this.#take(2), true)
      case 4:
        return this.u32()
      case 5:
        return view.getInt32(this.#take(4), true)
      case 6:
        return view.getFloat32(this.#take(4), true)
      case 7:
        return view.getUint8(this.#take(1)) !== 0
      case 8:
        return this.text()
      case 9:
        return this.#array()
      case 10:
        return this.count()
      case 11:
        return Number(view.getBigInt64(this.#take(8), true))
      case 12:
        return view.getFloat64(this.#take(8), true)
    }
    throw new RangeError(`GGUF knows no values of the type ${type}.`)
  }

  #array(): unknown[] {
    const type = this.u32()
    const length = this.count()
    // No value takes less than a byte: a length that the rest cannot hold is not made room for.
    if (length > this.#bytes.length - this.at) throw new Short()
    const values: unknown[] = []
    for (let i = 0; i < length; i++) values.push(this.value(type))
    return values
  }

  #take(bytes: number): number {
    const at = this.at
    if (at + bytes > this.#bytes.length) throw new Short()
    this.at += bytes
    return at
  }
}
