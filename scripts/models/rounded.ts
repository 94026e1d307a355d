/** Four bits: ggml's simplest, as its library defines them (32 values, a scale in f16, codes from which 8 is taken), and MLC's. */
import { quantize } from '../../src/engines/webgpu/model/quantize.js'
import { floatToHalf, halfToFloat } from '../../src/platform/half.js'
import type { Vector } from './float64.js'

const VALUES = 32
const BYTES = 18

/** The number that is largest gets the code 0, which is what its reference does. */
function scaleOf(values: ArrayLike<number>, from: number): number {
  let most = 0
  for (let i = from; i < from + VALUES; i++) if (Math.abs(values[i]!) > Math.abs(most)) most = values[i]!
  return floatToHalf(most / -8)
}
const codeOf = (value: number, scale: number) => (scale === 0 ? 8 : Math.min(15, Math.floor(value / scale + 8.5)))

/** What is in them already comes back as it was. */
export function toQ4_0(values: ArrayLike<number>): Buffer {
  const out = Buffer.alloc((values.length / VALUES) * BYTES)
  for (let from = 0, at = 0; from < values.length; from += VALUES, at += BYTES) {
    const half = scaleOf(values, from)
    const scale = halfToFloat(half)
    out.writeUInt16LE(half, at)
    for (let i = 0; i < 16; i++) {
      out[at + 2 + i] = codeOf(values[from + i]!, scale) | (codeOf(values[from + 16 + i]!, scale) << 4)
    }
  }
  return out
}

export function throughQ4_0(values: Vector): Vector {
  const out = new Float64Array(values.length)
  for (let from = 0; from < values.length; from += VALUES) {
    const scale = halfToFloat(scaleOf(values, from))
    for (let i = from; i < from + VALUES; i++) out[i] = (codeOf(values[i]!, scale) - 8) * scale
  }
  return out
}

/** What the loader makes of plain weights, as MLC stores them: a code of 7 is zero. */
export function throughMlc(values: Vector): Vector {
  const { codes, scales } = quantize(Float32Array.from(values))
  const [words, halves] = [new Uint32Array(codes.buffer), new Uint16Array(scales.buffer)]
  return values.map((_, i) => (((words[i >> 3]! >>> (4 * (i & 7))) & 15) - 7) * halfToFloat(halves[i >> 5]!))
}
