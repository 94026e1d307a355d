/** Seeded numbers, matrices in every format, and the plain values that they stand for. */

import { FULL } from '../../../test/support/full.js'
import { blockValues } from '../../models/files/formats/gguf/dequantize.js'
import { BLOCK_TYPES, type BlockType, blockBytes, isBlockType } from '../../platform/block-types.js'
import { floatToHalf, halfToFloat } from '../../platform/half.js'
import type { MatrixBand } from '../contract.js'
import { mix } from '../sampling.js'

/** The latest draws, of which so many numbers are kept. */
const kept = new Map<string, { readonly drawn: unknown; readonly after: number; readonly size: number }>()
const MOST_KEPT = 2 ** 24

export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = mix(seed + 1)
  }

  /** What is drawn from here once, as it is for every device; whoever draws next goes on behind it. Nobody changes it. */
  once<T>(name: string, size: number, draw: () => T): T {
    const key = `${this.#state} ${name}`
    const found = kept.get(key) ?? { drawn: draw(), after: this.#state, size }
    kept.delete(key)
    kept.set(key, found)
    this.#state = found.after
    let all = 0
    for (const { size } of kept.values()) all += size
    for (const [oldest, { size }] of kept) {
      if (all <= MOST_KEPT) break
      kept.delete(oldest)
      all -= size
    }
    return found.drawn as T
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    return mix(this.#state) / 4294967296
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** About normal. */
  normal(): number {
    return (this.next() + this.next() + this.next() + this.next() - 2) * Math.sqrt(3)
  }

  floats(length: number, scale = 1): Float32Array {
    const values = new Float32Array(length)
    for (let i = 0; i < length; i++) values[i] = this.normal() * scale
    return values
  }
}

export type Format = 'q4f16' | 'q4f32' | 'f16' | 'bf16' | 'f32' | BlockType
export const FORMATS: readonly Format[] = ['q4f16', 'q4f32', 'f16', 'bf16', 'f32']

export const BLOCK_FORMATS = Object.keys(BLOCK_TYPES) as readonly BlockType[]

/** By default of those whose scales and codes lie alike one: for what each is read for by the same code. */
export const BLOCK_KINDS: readonly BlockType[] = FULL
  ? BLOCK_FORMATS
  : ['q4_0', 'q5_1', 'q8_0', 'q4_k', 'q6_k', 'iq4_xs', 'mxfp4']

export interface Known {
  readonly data: MatrixBand
  /** Exactly what the stored form stands for, row by row. */
  readonly values: Float64Array
}

export function knownMatrix(chance: Chance, format: Format, rows: number, columns: number, scale = 1): Known {
  const name = `${format} ${rows} ${columns} ${scale}`
  return chance.once(name, rows * columns, () => madeMatrix(chance, format, rows, columns, scale))
}

function madeMatrix(chance: Chance, format: Format, rows: number, columns: number, scale: number): Known {
  if (isBlockType(format)) return inBlocks(chance, format, rows, columns, scale)
  if (format === 'q4f16' || format === 'q4f32') return quantised(chance, format, rows, columns, scale)
  const values = new Float64Array(rows * columns)
  for (let i = 0; i < values.length; i++) values[i] = chance.normal() * scale
  const size = format === 'f32' ? 4 : 2
  const data = new Uint8Array(values.length * size)
  const view = new DataView(data.buffer)
  values.forEach((value, i) => {
    values[i] = store(view, i, value, format)
  })
  return { data: { format, rows, columns, data }, values }
}

/** Any bits, under scales of which each block has its own. */
function inBlocks(chance: Chance, type: BlockType, rows: number, columns: number, scale: number): Known {
  const block = BLOCK_TYPES[type]
  const { bytes, halves } = block
  const data = new Uint8Array(rows * blockBytes(type, columns))
  for (let i = 0; i < data.length; i++) data[i] = chance.below(256)
  const view = new DataView(data.buffer)
  for (let at = 0; at < data.length; at += bytes) {
    for (const half of halves) view.setUint16(at + half, floatToHalf((chance.next() - 0.3) / 64), true)
    if ('power' in block) data[at + block.power] = 118 + chance.below(5)
  }
  const found = blockValues(type, data)
  // Brought to about the size that was asked for, by powers of two of the scales.
  const size = Math.sqrt(found.reduce((sum, value) => sum + value * value, 0) / found.length)
  const by = 2 ** Math.round(Math.log2(scale / size))
  for (let at = 0; at < data.length; at += bytes) {
    if ('power' in block) data[at + block.power]! += Math.log2(by)
    for (const half of halves) {
      view.setUint16(at + half, floatToHalf(halfToFloat(view.getUint16(at + half, true)) * by), true)
    }
  }
  return { data: { format: type, rows, columns, data }, values: Float64Array.from(blockValues(type, data)) }
}

const word = new DataView(new ArrayBuffer(4))

/** Writes a value and returns what was kept of it. */
function store(view: DataView, i: number, value: number, format: 'f32' | 'f16' | 'bf16'): number {
  if (format === 'f16') {
    const bits = floatToHalf(value)
    view.setUint16(i * 2, bits, true)
    return halfToFloat(bits)
  }
  if (format === 'f32') {
    view.setFloat32(i * 4, value, true)
    return Math.fround(value)
  }
  word.setFloat32(0, value)
  view.setUint16(i * 2, word.getUint16(0), true)
  word.setUint16(2, 0)
  return word.getFloat32(0)
}

function quantised(chance: Chance, format: 'q4f16' | 'q4f32', rows: number, columns: number, scale: number): Known {
  const codes = new Uint32Array((rows * columns) / 8)
  const half = format === 'q4f16'
  const scales = new Uint8Array(((rows * columns) / 32) * (half ? 2 : 4))
  const view = new DataView(scales.buffer)
  const values = new Float64Array(rows * columns)
  for (let block = 0; block < values.length / 32; block++) {
    const kept = store(view, block, (scale * (0.5 + chance.next())) / 4, half ? 'f16' : 'f32')
    for (let i = 0; i < 32; i++) {
      const code = chance.below(16)
      const at = block * 32 + i
      codes[at >> 3]! |= code << ((at & 7) * 4)
      values[at] = (code - 7) * kept
    }
  }
  const data: MatrixBand = {
    format: 'q4',
    rows,
    columns,
    codes: new Uint8Array(codes.buffer),
    scales,
    scaleType: half ? 'f16' : 'f32',
  }
  return { data, values }
}
