/** Tensors in a file, as transformers writes them. */
import { halvesOf } from './halves.js'

export type SafetensorsType = 'F32' | 'F16' | 'BF16'

const STORED: Readonly<Record<SafetensorsType, (values: ArrayLike<number>) => Uint8Array>> = {
  F32: (values) => new Uint8Array(new Float32Array(values).buffer),
  F16: (values) => new Uint8Array(halvesOf(values).buffer),
  // The weights of cases have no more than its eight bits.
  BF16: (values) => new Uint8Array(highOf(new Uint32Array(new Float32Array(values).buffer)).buffer),
}

/** The upper half of each word. */
function highOf(words: Uint32Array): Uint16Array<ArrayBuffer> {
  const high = new Uint16Array(words.length)
  for (let i = 0; i < high.length; i++) high[i] = words[i]! >>> 16
  return high
}

/** What a file holds of a tensor. */
export interface StoredTensor {
  readonly name: string
  readonly dtype: SafetensorsType | 'U32' | 'U8'
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

type Named = Pick<StoredTensor, 'name' | 'shape'>

export const storedAs = ({ name, shape }: Named, dtype: SafetensorsType, values: ArrayLike<number>): StoredTensor => ({
  name,
  dtype,
  shape,
  data: STORED[dtype](values),
})

/** `within`: what stands before the names in `weights`, and not in the file. */
export const safetensors = (
  specs: readonly Named[],
  weights: (name: string) => ArrayLike<number>,
  type: SafetensorsType = 'F32',
  within = '',
): Uint8Array => safetensorsFile(specs.map((spec) => storedAs(spec, type, weights(`${within}${spec.name}`))))

export function safetensorsFile(tensors: readonly StoredTensor[]): Uint8Array {
  const header: Record<string, object> = {}
  let at = 0
  for (const { name, dtype, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [at, at + data.length] }
    at += data.length
  }
  const json = JSON.stringify(header)
  const text = new TextEncoder().encode(json.padEnd(8 * Math.ceil(json.length / 8)))
  const head = new Uint8Array(8)
  new DataView(head.buffer).setBigUint64(0, BigInt(text.length), true)
  return Buffer.concat([head, text, ...tensors.map(({ data }) => data)])
}
