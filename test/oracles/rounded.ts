/** Four bits: ggml's simplest, as its library defines them (32 values, a scale in f16, codes from which 8 is taken), MLC's, and MXFP4. */
import { quantize } from '../../src/models/quantize.js'
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
  const { codes, scales } = quantize(new Float32Array(values))
  const [words, halves] = [new Uint32Array(codes.buffer), new Uint16Array(scales.buffer)]
  const out = new Float64Array(values.length)
  for (let from = 0; from < out.length; from += VALUES) {
    const scale = halfToFloat(halves[from / VALUES]!)
    for (let i = from; i < from + VALUES; i++) out[i] = (((words[i >> 3]! >>> (4 * (i & 7))) & 15) - 7) * scale
  }
  return out
}

/** The sizes of E2M1, by their codes; 8 is added for those below zero. */
const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
const E2M1_GREATEST = 2

/** OCP's Microscaling formats: of 32 values an exponent, and each as the nearest number of E2M1 times that power. */
export function toMxfp4(values: ArrayLike<number>): { readonly codes: Uint8Array; readonly exponents: Uint8Array } {
  const codes = new Uint8Array(values.length)
  const exponents = new Uint8Array(values.length / VALUES)
  for (let from = 0; from < values.length; from += VALUES) {
    let most = 0
    for (let i = from; i < from + VALUES; i++) most = Math.max(most, Math.abs(values[i]!))
    const power = most === 0 ? -127 : Math.floor(Math.log2(most)) - E2M1_GREATEST
    exponents[from / VALUES] = power + 127
    const unit = 2 ** power
    for (let i = from; i < from + VALUES; i++) {
      const size = Math.abs(values[i]!) / unit
      let nearest = 0
      for (let k = 1; k < E2M1.length; k++) {
        if (Math.abs(E2M1[k]! - size) < Math.abs(E2M1[nearest]! - size)) nearest = k
      }
      codes[i] = nearest + (values[i]! < 0 ? 8 : 0)
    }
  }
  return { codes, exponents }
}

export function throughMxfp4(values: Vector): Vector {
  const { codes, exponents } = toMxfp4(values)
  const out = new Float64Array(values.length)
  for (let from = 0; from < out.length; from += VALUES) {
    const unit = 2 ** (exponents[from / VALUES]! - 127)
    for (let i = from; i < from + VALUES; i++) out[i] = (codes[i]! < 8 ? 1 : -1) * E2M1[codes[i]! & 7]! * unit
  }
  return out
}

/** As ggml has them: the exponent, then the first sixteen codes in the low halves of bytes, the others in the high ones. */
export function toMxfp4Blocks(values: ArrayLike<number>): Buffer {
  const { codes, exponents } = toMxfp4(values)
  const out = Buffer.alloc(exponents.length * 17)
  exponents.forEach((exponent, block) => {
    out[block * 17] = exponent
    for (let i = 0; i < 16; i++) {
      out[block * 17 + 1 + i] = codes[block * VALUES + i]! | (codes[block * VALUES + 16 + i]! << 4)
    }
  })
  return out
}
