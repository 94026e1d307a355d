/**
 * GGUF's tensors as the decoder takes them. Plain ones stay as they are; Q4_0 becomes our own 4 bits, exactly; every
 * other type becomes f16, its values rounded by at most 2^-11 of themselves.
 */

import { floatToHalf, halfToFloat } from '../../../platform/half.js'
import { broken } from '../../failure.js'
import type { RepositoryFiles } from '../../files.js'
import { plainRows } from '../../rows.js'
import type { RawTensor, TensorType, WeightOutline, WeightSource } from '../../source.js'
import type { GgufTensor } from './head.js'
import { canRead, Q4_0, READABLE, typeOf } from './types.js'

/** What lies one below the other in one matrix, and is kept in one form. */
const TOGETHER = /^(blk\.\d+\.)(?:(attn)_(?:[qkv]|qkv|gate)|(ffn)_(?:gate|up)|(ssm)_(?:alpha|beta))\.weight$/
type Form = 'q4' | Exclude<TensorType, 'u32'>

export function ggufWeights(
  files: RepositoryFiles,
  stored: readonly GgufTensor[],
): Omit<WeightOutline, 'chatConfig' | 'naming'> & Pick<WeightSource, 'read' | 'has' | 'rows'> {
  const forms = formsOf(files.place, stored)
  const made = new Map<string, { readonly of: GgufTensor; readonly what: 'whole' | 'codes' | 'scales' }>()
  for (const of of stored) {
    const base = of.name.replace(/\.weight$/, '')
    if (forms.get(of.name) !== 'q4') made.set(of.name, { of, what: 'whole' })
    else made.set(`${base}.q_weight`, { of, what: 'codes' }).set(`${base}.q_scale`, { of, what: 'scales' })
  }
  /** Read with their codes, and not asked for yet. */
  const scales = new Map<GgufTensor, Uint8Array>()
  const find = (name: string) => {
    const found = made.get(name)
    if (!found) throw broken(files.place, `it has no tensor ${name}.`)
    return found
  }
  const describe = (name: string): Omit<RawTensor, 'data'> => {
    const { of, what } = find(name)
    if (what === 'whole') return { name, shape: of.shape, dtype: forms.get(of.name) as Exclude<Form, 'q4'> }
    const [rows, columns] = of.shape as [number, number]
    const codes = what === 'codes'
    return { name, shape: [rows, columns / (codes ? 8 : 32)], dtype: codes ? 'u32' : 'f16' }
  }
  /** As they lie, whatever form the whole would get. */
  const rowsOf = (name: string) => {
    const of = stored.find((tensor) => tensor.name === `${name}.weight`)
    if (!of) throw broken(files.place, `it has no tensor ${name}.`)
    const { block, bytes, read, plain } = typeOf(of.type)
    const columns = of.shape[1]!
    const slice = (from: number, to: number) => files.slice(of.file, of.from + from, of.from + to)
    if (!read) return plainRows(plain!, columns, slice)
    const rowBytes = (columns / block) * bytes
    return {
      rowBytes,
      read: (from: number, to: number) => slice(from * rowBytes, to * rowBytes),
      widen(data: Uint8Array, at: number, out: Float32Array) {
        const view = new DataView(data.buffer, data.byteOffset + at, rowBytes)
        for (let i = 0; i * block < columns; i++) read(view, i * bytes, out, i * block)
      },
    }
  }
  return {
    rows: rowsOf,
    rowBytes: (name) => rowsOf(name).rowBytes,
    names: [...made.keys()],
    has: (name) => made.has(name),
    describe,
    async read(name, signal) {
      signal?.throwIfAborted()
      const { of, what } = find(name)
      const known = describe(name)
      const early = what === 'scales' ? scales.get(of) : undefined
      if (early) {
        scales.delete(of)
        return { ...known, data: early }
      }
      const bytes = await files.slice(of.file, of.from, of.from + of.bytes)
      if (what === 'whole') return { ...known, data: plain(bytes, of, known.dtype) }
      const both = four(bytes)
      if (what === 'codes') scales.set(of, both.scales)
      return { ...known, data: both[what] }
    },
  }
}

function formsOf(place: string, stored: readonly GgufTensor[]): Map<string, Form> {
  const own = (tensor: GgufTensor): Form => {
    const type = typeOf(tensor.type)
    if (!canRead(type)) {
      throw broken(
        place,
        `tensor ${tensor.name} has the type ${type.label}; these can be read: ${READABLE.join(', ')}.`,
      )
    }
    return type.plain ?? (tensor.type === Q4_0 && tensor.shape.length === 2 ? 'q4' : 'f16')
  }
  const groups = new Map<string, GgufTensor[]>()
  for (const tensor of stored) {
    const within = tensor.name.match(TOGETHER)
    const key = within ? within.slice(1).join('') : tensor.name
    groups.set(key, [...(groups.get(key) ?? []), tensor])
  }
  const forms = new Map<string, Form>()
  for (const group of groups.values()) {
    const [first, ...others] = group.map(own)
    // f32 holds what f16 and bf16 do; of the quantised ones nothing is worth it.
    const wide = [first, ...others].some((form) => form === 'f32' || form === 'bf16')
    const form = others.every((other) => other === first) ? first! : wide ? 'f32' : 'f16'
    for (const { name } of group) forms.set(name, form)
  }
  return forms
}

/** As it lies, or value by value in another form. */
function plain(bytes: Uint8Array, { type: number, shape }: GgufTensor, dtype: TensorType): Uint8Array {
  const type = typeOf(number)
  if (type.plain === dtype) return bytes
  const count = shape.reduce((product, side) => product * side, 1)
  const wide = dtype === 'f32'
  const floats = wide ? new Float32Array(count) : new Float32Array(type.block)
  const halves = new Uint16Array(wide ? 0 : count)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const read = type.read ?? readPlain(type.plain!)
  for (let block = 0; block * type.block < count; block++) {
    read(view, block * type.bytes, floats, wide ? block * type.block : 0)
    if (!wide) for (let i = 0; i < type.block; i++) halves[block * type.block + i] = floatToHalf(floats[i]!)
  }
  return new Uint8Array(wide ? floats.buffer : halves.buffer)
}

function readPlain(from: 'f32' | 'f16' | 'bf16'): NonNullable<ReturnType<typeof typeOf>['read']> {
  const word = new DataView(new ArrayBuffer(4))
  return (view, at, out, to) => {
    if (from === 'f32') out[to] = view.getFloat32(at, true)
    else if (from === 'f16') out[to] = halfToFloat(view.getUint16(at, true))
    else {
      word.setUint16(0, view.getUint16(at, true))
      out[to] = word.getFloat32(0)
    }
  }
}

/** The first halves of the bytes of a word, one after the other in the lower half of one. */
function firstHalves(word: number): number {
  const pairs = word & 0x0f0f0f0f
  const fours = (pairs | (pairs >>> 4)) & 0x00ff00ff
  return (fours | (fours >>> 8)) & 0xffff
}

/** Q4_0 is (code - 8) d, ours (code - 7) scale: the same number for 15 - code under -d. */
function four(bytes: Uint8Array): { codes: Uint8Array; scales: Uint8Array } {
  const blocks = bytes.length / 18
  const codes = new Uint32Array(blocks * 4)
  const scales = new Uint16Array(blocks)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let block = 0; block < blocks; block++) {
    const at = block * 18
    scales[block] = view.getUint16(at, true) ^ 0x8000
    // The low halves of its bytes are the first 16 values; ours alternate.
    for (let i = 0; i < 2; i++) {
      const a = ~view.getUint32(at + 2 + 8 * i, true)
      const b = ~view.getUint32(at + 6 + 8 * i, true)
      codes[block * 4 + i] = firstHalves(a) | (firstHalves(b) << 16)
      codes[block * 4 + 2 + i] = firstHalves(a >>> 4) | (firstHalves(b >>> 4) << 16)
    }
  }
  return { codes: new Uint8Array(codes.buffer), scales: new Uint8Array(scales.buffer) }
}
