/** GGUF as a container: metadata, then tensors one after the other. What is in it is not known here. */
import { closeSync, openSync, writeSync } from 'node:fs'

const ALIGNMENT = 32
const [U8, U32, I32, FLOAT, FLAG, STRING, ARRAY] = [0, 4, 5, 6, 7, 8, 9]

export const F32 = 0
export const F16 = 1
export const Q4_0 = 2
export const MXFP4 = 39
export const Q5_0 = 6
export const Q5_1 = 7
export const Q8_0 = 8
export const Q4_K = 12
export const Q5_K = 13
export const Q6_K = 14

export interface Tensor {
  readonly name: string
  /** The innermost first. */
  readonly dims: readonly number[]
  /** As ggml numbers them. */
  readonly type: number
  readonly bytes: number
  readonly data: () => Promise<Buffer>
}

class Bytes {
  readonly parts: Buffer[] = []

  push(part: Buffer): this {
    this.parts.push(part)
    return this
  }
  u32(value: number): this {
    const part = Buffer.alloc(4)
    part.writeUInt32LE(value)
    return this.push(part)
  }
  u64(value: number): this {
    const part = Buffer.alloc(8)
    part.writeBigUInt64LE(BigInt(value))
    return this.push(part)
  }
  float(value: number): this {
    const part = Buffer.alloc(4)
    part.writeFloatLE(value)
    return this.push(part)
  }
  text(value: string): this {
    const bytes = Buffer.from(value)
    return this.u64(bytes.length).push(bytes)
  }
}

/** Names and values, each of its type. */
export class Metadata {
  /** By names: what is written again takes the place of what was. */
  readonly #values = new Map<string, Bytes>()

  get count(): number {
    return this.#values.size
  }

  get parts(): readonly Buffer[] {
    return [...this.#values.values()].flatMap(({ parts }) => parts)
  }

  u32(name: string, value: number): void {
    this.#key(name, U32).u32(value)
  }
  float(name: string, value: number): void {
    this.#key(name, FLOAT).float(value)
  }
  flag(name: string, value: boolean): void {
    this.#key(name, FLAG).push(Buffer.of(value ? 1 : 0))
  }
  text(name: string, value: string): void {
    this.#key(name, STRING).text(value)
  }
  texts(name: string, values: readonly string[]): void {
    const list = this.#key(name, ARRAY).u32(STRING).u64(values.length)
    for (const value of values) list.text(value)
  }
  floats(name: string, values: Float32Array): void {
    this.#key(name, ARRAY).u32(FLOAT).u64(values.length).push(Buffer.from(values.buffer))
  }
  integers(name: string, values: Int32Array): void {
    this.#key(name, ARRAY).u32(I32).u64(values.length).push(Buffer.from(values.buffer))
  }
  octets(name: string, values: Buffer): void {
    this.#key(name, ARRAY).u32(U8).u64(values.length).push(values)
  }
  flags(name: string, values: readonly boolean[]): void {
    this.#key(name, ARRAY)
      .u32(FLAG)
      .u64(values.length)
      .push(Buffer.from(values.map(Number)))
  }

  #key(name: string, type: number): Bytes {
    const value = new Bytes().text(name).u32(type)
    this.#values.set(name, value)
    return value
  }
}

export async function writeGgufFile(
  path: string,
  metadata: Metadata,
  tensors: readonly Tensor[],
  version = 3,
): Promise<void> {
  const head = new Bytes().push(Buffer.from('GGUF')).u32(version).u64(tensors.length).u64(metadata.count)
  for (const part of metadata.parts) head.push(part)
  let offset = 0
  for (const { name, dims, type, bytes } of tensors) {
    head.text(name).u32(dims.length)
    for (const dim of dims) head.u64(dim)
    head.u32(type).u64(offset)
    offset += aligned(bytes)
  }
  const file = openSync(path, 'w')
  try {
    writeWhole(file, Buffer.concat(head.parts))
    for (const { data } of tensors) writeWhole(file, await data())
  } finally {
    closeSync(file)
  }
}

function writeWhole(file: number, part: Buffer): void {
  const padded = Buffer.alloc(aligned(part.length))
  part.copy(padded)
  for (let at = 0; at < padded.length; ) at += writeSync(file, padded, at)
}

const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
