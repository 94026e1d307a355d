/**
 * ggml's blocks as the numbers that they stand for, by their definition (ggml-common.h, ggml-quants.c). `d` is the scale
 * of a block, `m` what is taken off or added.
 */
import { BLOCK_TYPES, type BlockType, halfToFloat } from '../../../../platform/index.js'

type Read = (view: DataView, at: number, out: Float32Array, to: number) => void

const half = (view: DataView, at: number) => halfToFloat(view.getUint16(at, true))

/** The steps of IQ4: finer around zero. */
const STEPS = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]

const q4_0: Read = (view, at, out, to) => {
  const d = half(view, at)
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 2 + i)
    out[to + i] = ((codes & 15) - 8) * d
    out[to + i + 16] = ((codes >> 4) - 8) * d
  }
}

const q4_1: Read = (view, at, out, to) => {
  const [d, m] = [half(view, at), half(view, at + 2)]
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 4 + i)
    out[to + i] = (codes & 15) * d + m
    out[to + i + 16] = (codes >> 4) * d + m
  }
}

const q5_0: Read = (view, at, out, to) => {
  const d = half(view, at)
  const high = view.getUint32(at + 2, true)
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 6 + i)
    out[to + i] = (((codes & 15) | (((high >>> i) & 1) << 4)) - 16) * d
    out[to + i + 16] = (((codes >> 4) | (((high >>> (i + 16)) & 1) << 4)) - 16) * d
  }
}

const q5_1: Read = (view, at, out, to) => {
  const [d, m] = [half(view, at), half(view, at + 2)]
  const high = view.getUint32(at + 4, true)
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 8 + i)
    out[to + i] = ((codes & 15) | (((high >>> i) & 1) << 4)) * d + m
    out[to + i + 16] = ((codes >> 4) | (((high >>> (i + 16)) & 1) << 4)) * d + m
  }
}

const q8_0: Read = (view, at, out, to) => {
  const d = half(view, at)
  for (let i = 0; i < 32; i++) out[to + i] = view.getInt8(at + 2 + i) * d
}

const q2_k: Read = (view, at, out, to) => {
  const [d, m] = [half(view, at + 80), half(view, at + 82)]
  for (let group = 0; group < 16; group++) {
    const scales = view.getUint8(at + group)
    const [scale, least] = [d * (scales & 15), m * (scales >> 4)]
    // Groups of 16 in turn: two of a shift, four shifts, then the next 32 bytes.
    const from = at + 16 + (group >> 3) * 32 + (group & 1) * 16
    const shift = 2 * ((group >> 1) & 3)
    for (let i = 0; i < 16; i++) out[to + group * 16 + i] = scale * ((view.getUint8(from + i) >> shift) & 3) - least
  }
}

const q3_k: Read = (view, at, out, to) => {
  const d = half(view, at + 108)
  for (let group = 0; group < 16; group++) {
    const low = view.getUint8(at + 96 + (group & 7)) >> (group < 8 ? 0 : 4)
    const high = view.getUint8(at + 104 + (group & 3)) >> (2 * (group >> 2))
    const scale = d * (((low & 15) | ((high & 3) << 4)) - 32)
    const from = at + 32 + (group >> 3) * 32 + (group & 1) * 16
    const mask = at + (group & 1) * 16
    const shift = 2 * ((group >> 1) & 3)
    const bit = group >> 1
    for (let i = 0; i < 16; i++) {
      const code = ((view.getUint8(from + i) >> shift) & 3) - ((view.getUint8(mask + i) >> bit) & 1 ? 0 : 4)
      out[to + group * 16 + i] = scale * code
    }
  }
}

/** Scale and least value of the eight groups of 32, in six bits each. */
function scaleAndLeast(view: DataView, at: number, group: number): [number, number] {
  const byte = (i: number) => view.getUint8(at + i)
  if (group < 4) return [byte(group) & 63, byte(group + 4) & 63]
  const both = byte(group + 4)
  return [(both & 15) | ((byte(group - 4) >> 6) << 4), (both >> 4) | ((byte(group) >> 6) << 4)]
}

const q4_k: Read = (view, at, out, to) => {
  const [d, m] = [half(view, at), half(view, at + 2)]
  for (let group = 0; group < 8; group++) {
    const [scale, least] = scaleAndLeast(view, at + 4, group)
    const from = at + 16 + (group >> 1) * 32
    for (let i = 0; i < 32; i++) {
      const code = (view.getUint8(from + i) >> (4 * (group & 1))) & 15
      out[to + group * 32 + i] = d * scale * code - m * least
    }
  }
}

const q5_k: Read = (view, at, out, to) => {
  const [d, m] = [half(view, at), half(view, at + 2)]
  for (let group = 0; group < 8; group++) {
    const [scale, least] = scaleAndLeast(view, at + 4, group)
    const from = at + 48 + (group >> 1) * 32
    for (let i = 0; i < 32; i++) {
      const low = (view.getUint8(from + i) >> (4 * (group & 1))) & 15
      const code = low | (((view.getUint8(at + 16 + i) >> group) & 1) << 4)
      out[to + group * 32 + i] = d * scale * code - m * least
    }
  }
}

const q6_k: Read = (view, at, out, to) => {
  const d = half(view, at + 208)
  for (let group = 0; group < 16; group++) {
    const scale = d * view.getInt8(at + 192 + group)
    // Of each half, four quarters of 32: low bits in the lower or upper half of one of 64 bytes, two high bits beside.
    const [side, quarter] = [group >> 3, (group >> 1) & 3]
    const low = at + side * 64 + (quarter & 1) * 32 + (group & 1) * 16
    const high = at + 128 + side * 32 + (group & 1) * 16
    for (let i = 0; i < 16; i++) {
      const four = (view.getUint8(low + i) >> (4 * (quarter >> 1))) & 15
      const code = (four | (((view.getUint8(high + i) >> (2 * quarter)) & 3) << 4)) - 32
      out[to + group * 16 + i] = scale * code
    }
  }
}

const iq4_nl: Read = (view, at, out, to) => {
  const d = half(view, at)
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 2 + i)
    out[to + i] = d * STEPS[codes & 15]!
    out[to + i + 16] = d * STEPS[codes >> 4]!
  }
}

const iq4_xs: Read = (view, at, out, to) => {
  const d = half(view, at)
  const high = view.getUint16(at + 2, true)
  for (let group = 0; group < 8; group++) {
    const low = view.getUint8(at + 4 + (group >> 1)) >> (4 * (group & 1))
    const scale = d * (((low & 15) | (((high >> (2 * group)) & 3) << 4)) - 32)
    for (let i = 0; i < 16; i++) {
      const codes = view.getUint8(at + 8 + group * 16 + i)
      out[to + group * 32 + i] = scale * STEPS[codes & 15]!
      out[to + group * 32 + i + 16] = scale * STEPS[codes >> 4]!
    }
  }
}

/** The numbers of E2M1, doubled; a scale of half a power of two makes up for it. */
const E2M1 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]

const mxfp4: Read = (view, at, out, to) => {
  const d = 2 ** (view.getUint8(at) - 128)
  for (let i = 0; i < 16; i++) {
    const codes = view.getUint8(at + 1 + i)
    out[to + i] = d * E2M1[codes & 15]!
    out[to + i + 16] = d * E2M1[codes >> 4]!
  }
}

const READ: Readonly<Record<BlockType, Read>> = {
  ...{ q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4 },
}

/** The values of whole blocks. */
export function blockValues(type: BlockType, data: Uint8Array): Float32Array {
  const { values, bytes } = BLOCK_TYPES[type]
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const out = new Float32Array((data.byteLength / bytes) * values)
  for (let block = 0; block * values < out.length; block++) READ[type](view, block * bytes, out, block * values)
  return out
}
