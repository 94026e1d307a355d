/** The kernels as a compiled module, in the form that suits this host. */
import { RELAXED, SHARED_FLAG, SIMD } from './kernels.generated.js'

/** What the module exports. Pointers are byte offsets into its memory; the operations of a program stand in program.ts. */
export interface Kernels {
  run(control: number, program: number, operations: number, threads: number): void
  serve(control: number, thread: number): void
  dismiss(control: number): void
  packQ4(codes: number, scales: number, half: boolean, w: number, from: number, to: number, blocks: number): void
  packDense(source: number, size: number, w: number, from: number, to: number, k: number): void
}

export type KernelVariant = 'simd' | 'relaxed'

/** A function of relaxed SIMD: `i16x8.relaxed_dot_i8x16_i7x16_s` of two constants. */
const RELAXED_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 146, 2, 11],
])

const SIMD_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 8, 1, 6, 0, 65, 1, 253, 15, 11],
])

export function hasSimd(): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(SIMD_PROBE)
}

/** The fastest build that this host can run. */
export function bestVariant(): KernelVariant {
  return WebAssembly.validate(RELAXED_PROBE) ? 'relaxed' : 'simd'
}

/** Bytes of eight quantised activations and of a block of 32: `assembly/layout.ts` knows why they differ. */
export function activationBlockBytes(variant: KernelVariant): number {
  return variant === 'relaxed' ? 48 : 80
}

/** Compiles without `eval`: a content security policy needs to allow `wasm-unsafe-eval` alone. */
export function compileKernels(variant: KernelVariant, shared: boolean): Promise<WebAssembly.Module> {
  const text = atob(variant === 'relaxed' ? RELAXED : SIMD)
  const binary = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) binary[i] = text.charCodeAt(i)
  // The limits of the imported memory: 3 is shared with a maximum, 1 the same without sharing.
  binary[SHARED_FLAG[variant]] = shared ? 3 : 1
  return WebAssembly.compile(binary)
}

export async function instantiate<K = Kernels>(module: WebAssembly.Module, memory: WebAssembly.Memory): Promise<K> {
  // AssemblyScript imports `abort` for failed assertions, of which an optimised build has none.
  const instance = await WebAssembly.instantiate(module, { env: { memory } })
  return instance.exports as K
}
