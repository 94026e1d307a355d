/** Memory with the kernels in it, and seeded numbers to fill it with. */
import { ACTIVATION_BLOCK_BYTES, type Arguments, type FunctionName, HEADER_WORDS } from './abi.js'
import { PassProgram } from './program.js'
import { bestVariant, compileKernels, instantiate, type KernelVariant } from './wasm.js'

type Kernel = (...args: (number | boolean)[]) => void

export interface Bench {
  readonly variant: KernelVariant
  readonly call: Record<string, Kernel>
  readonly activationBlock: number
  /** Room for `bytes`, zeroed. */
  room(bytes: number): number
  put(values: Float32Array | Uint32Array | Uint16Array | Int32Array): number
  /** So many rows, and zeros for those that their group of eight lacks. */
  putRows(values: Float32Array | Uint32Array | Uint16Array, rows: number): number
  /** Arguments of an operation. */
  argumentsOf<N extends FunctionName>(name: N, args: Arguments<N>): number
  floats(at: number, count: number): Float32Array
}

/** Every build that this host runs. */
export const variants: KernelVariant[] = bestVariant() === 'relaxed' ? ['simd', 'relaxed'] : ['simd']

export async function bench(variant: KernelVariant, mebibytes = 16): Promise<Bench> {
  const memory = new WebAssembly.Memory({ initial: mebibytes * 16, maximum: mebibytes * 16 })
  const call = (await instantiate(await compileKernels(variant, false), memory)) as unknown as Record<string, Kernel>
  let top = 1024
  const room = (bytes: number): number => {
    const at = top
    top += (bytes + 63) & ~63
    if (top > memory.buffer.byteLength) throw new Error('The test needs more memory.')
    return at
  }
  const set = (at: number, values: ArrayBufferView) => {
    new Uint8Array(memory.buffer).set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at)
    return at
  }
  return {
    variant,
    call,
    activationBlock: ACTIVATION_BLOCK_BYTES[variant],
    room,
    put: (values) => set(room(values.byteLength), values),
    putRows: (values, rows) => set(room((values.byteLength / rows) * Math.ceil(rows / 8) * 8), values),
    argumentsOf(name, args) {
      const program = new PassProgram(1)
      program.add(name, 0, args)
      const at = room(program.bytes)
      program.write(new Int32Array(memory.buffer), at)
      return at + HEADER_WORDS * 4
    },
    floats: (at, count) => new Float32Array(memory.buffer, at, count).slice(),
  }
}

/** A seeded source of numbers (mulberry32). */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export function floats(count: number, seed: number, spread = 1): Float32Array {
  const next = random(seed)
  return Float32Array.from({ length: count }, () => (next() * 2 - 1) * spread)
}

/** A 4-bit matrix as MLC stores it, with its values written out. */
export function matrixQ4(n: number, k: number, seed: number) {
  const next = random(seed)
  const codes = Uint32Array.from({ length: (n * k) / 8 }, () => (next() * 4294967296) >>> 0)
  const scales = Float32Array.from({ length: (n * k) / 32 }, () => next() * 0.1 + 0.001)
  const values = Float64Array.from({ length: n * k }, (_, i) => {
    const code = (codes[i >> 3]! >>> ((i & 7) * 4)) & 15
    return (code - 7) * scales[i >> 5]!
  })
  return { codes, scales, values }
}

/** f32 to the nearest f16, as its bits. Normal numbers and zero only. */
export function toHalf(value: number): number {
  const f = new Float32Array([value])
  const bits = new Uint32Array(f.buffer)[0]!
  const sign = (bits >>> 16) & 0x8000
  const rounded = (bits & 0x7fffffff) + 0xfff + ((bits >>> 13) & 1)
  return rounded < 0x38800000 ? sign : sign | ((rounded - 0x38000000) >>> 13)
}

export function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 31
  const mantissa = half & 1023
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + mantissa / 1024) : 2 ** -24 * mantissa)
}

export function toBrain(value: number): number {
  return new Uint32Array(new Float32Array([value]).buffer)[0]! >>> 16
}

export function fromBrain(bits: number): number {
  return new Float32Array(new Uint32Array([bits << 16]).buffer)[0]!
}
