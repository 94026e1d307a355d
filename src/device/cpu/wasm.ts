/** The kernels as a compiled module, in the form that suits this host. */
import { RELAXED, SHARED_FLAG, SIMD } from './kernels.generated.js'

/** What the module exports. Pointers are byte offsets into its memory; the operations of a program stand in `abi.ts`. */
export interface Kernels {
  run(program: number, operations: number): void
  isSettled(control: number): number
  runTogether(control: number, program: number, operations: number, threads: number): number
  serve(control: number, thread: number): void
  dismiss(control: number): void
  fail(control: number): void
  areFinite(values: number, count: number): number
  greatest(values: number, count: number): number
  sumExp(values: number, count: number, greatest: number, inverse: number): number
  idsAtLeast(values: number, count: number, least: number, ids: number): number
  forbid(values: number, count: number, mask: number): void
  race(
    values: number,
    count: number,
    greatest: number,
    inverse: number,
    key: number,
    weights: number,
    odds: number,
    bound: number,
  ): number
  raceAbove(values: number, count: number, above: number, weights: number, odds: number, bound: number): number
}

export type KernelVariant = 'simd' | 'relaxed'

/** `p(a, b)`: 7 + 4 * a * b by relaxed SIMD's product of bytes. */
const RELAXED_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 112, 0, 0],
  ...[10, 22, 1, 20, 0, 32, 0, 253, 15, 32, 1, 253, 15, 65, 7, 253, 17, 253, 147, 2, 253, 27, 0, 11],
])

/** That product as this host computes it; undefined where there is none. */
function productOfBytes(): ((a: number, b: number) => number) | undefined {
  if (!WebAssembly.validate(RELAXED_PROBE)) return undefined
  const { p } = new WebAssembly.Instance(new WebAssembly.Module(RELAXED_PROBE)).exports
  return p as (a: number, b: number) => number
}

const SIMD_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 8, 1, 6, 0, 65, 1, 253, 15, 11],
])

export function hasSimd(): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(SIMD_PROBE)
}

/** The fastest build that this host runs, and runs right: the instruction meant something else while V8 tried it out. */
export function bestVariant(): KernelVariant {
  return productOfBytes()?.(-100, 5) === -1993 ? 'relaxed' : 'simd'
}

/**
 * Whether the product is right where the second factor has all of its 8 bits, of which 7 are promised: as unsigned on x64
 * with VNNI, as signed on ARM. Others add up pairs in 16 bits, which are too few for it.
 */
export function multipliesWholeBytes(): boolean {
  const product = productOfBytes()
  if (!product) return false
  const right = (of: (b: number) => number) =>
    [127, -127].every((a) => [128, 129, 200, 255].every((b) => product(a, b) === 7 + 4 * a * of(b)))
  return right((b) => b) || right((b) => b - 256)
}

/** Compiles without `eval`: a content security policy needs to allow `wasm-unsafe-eval` alone. */
export function compileKernels(variant: KernelVariant, shared: boolean): Promise<WebAssembly.Module> {
  return WebAssembly.compile(kernelBytes(variant, shared))
}

export function kernelBytes(variant: KernelVariant, shared: boolean): Uint8Array<ArrayBuffer> {
  const text = atob(variant === 'relaxed' ? RELAXED : SIMD)
  const binary = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) binary[i] = text.charCodeAt(i)
  // The limits of the imported memory: 3 is shared with a maximum, 1 the same without sharing.
  binary[SHARED_FLAG[variant]] = shared ? 3 : 1
  return binary
}

export async function instantiate(module: WebAssembly.Module, memory: WebAssembly.Memory): Promise<Kernels> {
  // AssemblyScript imports `abort` for failed assertions, of which an optimised build has none.
  const instance = await WebAssembly.instantiate(module, { env: { memory } })
  return instance.exports as unknown as Kernels
}
