/** What kernels are made of: WGSL whose shapes are constants, and a recorder that dispatches it. */

import type { Cuts } from './cuts.js'
import type { SubgroupMatrices } from './subgroup-matrices.js'

/** How a GPU wants its work cut. */
export interface GpuTraits {
  /** A software adapter: one invocation does a whole dot product, and barriers are avoided. */
  readonly serial: boolean
  /** How many neighbouring invocations pass values to each other without shared memory: a power of two; 1: none. */
  readonly lanes: number
  /** Shaders may compute in f16. */
  readonly half: boolean
  /** Shaders multiply and add four bytes of a word at once, rightly; only found out where `cuts` ask for it. @default false */
  readonly packed?: boolean
  /** Subgroups multiply such matrices as one, rightly. @default none */
  readonly matrices?: SubgroupMatrices
  /** A workgroup shares no more memory than every GPU has: less than `ROOMY`. @default false */
  readonly tight?: boolean
  /** Instead of `CUTS`. */
  readonly cuts?: Partial<Cuts>
}

export interface Kernel {
  readonly name: string
  /** The cache key of the pipeline. */
  readonly source: string
  /** One letter per binding, in order: r read-only storage, w read-write storage. */
  readonly bindings: string
}

export interface Recorder {
  readonly traits: GpuTraits
  /** Tokens of the pass. */
  readonly rows: number
  /** So many rows are computed as few are. */
  few(rows: number): boolean
  /** The last position of any row. */
  readonly lastPosition: number
  /** See `meta.ts`. */
  readonly meta: GPUBuffer
  /**
   * Cuts the rows into tiles of one sequence each; returns how many, or how many have one of those that are `read`, which
   * are then the first. All calls of a pass give the same numbers.
   */
  tiles(rows: number, splits: number, large: boolean, read?: Int32Array): number
  dispatch(kernel: Kernel, buffers: readonly GPUBuffer[], x: number, y?: number, z?: number): void
}

/** Workgroups along one axis are limited to 65,535: longer lists of them go into rows of this length. */
export const MOST_GROUPS = 32768

/** Declares bindings in order; the letters of `Kernel.bindings` come out with them. */
export function declare(list: readonly (readonly [name: string, type: string, access: 'r' | 'w'])[]): {
  readonly source: string
  readonly bindings: string
} {
  const source = list
    .map(([name, type, access], i) => {
      const mode = access === 'r' ? 'read' : 'read_write'
      return `@group(0) @binding(${i}) var<storage, ${mode}> ${name}: array<${type}>;`
    })
    .join('\n')
  return { source, bindings: list.map(([, , access]) => access).join('') }
}

/** One line per number, for unrolled loops. */
export function unrolled(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('\n')
}

/** A number as WGSL's f32. */
export function float(value: number): string {
  const text = Math.fround(value).toString()
  return /[.e]/.test(text) ? `${text}f` : `${text}.0f`
}

/** cap * tanh(x / cap), in the form that neither overflows nor is left to a device. `x` is a name; scalar or vector. */
export function capped(x: string, cap: number): string {
  return `(${float(cap)} - ${float(2 * cap)} / (1.0 + exp(${x} * ${float(2 / cap)})))`
}

/** Writing a kernel's source takes longer than dispatching it: each is written once for its shape. */
export function memo<Shape extends readonly unknown[]>(
  write: (...shape: Shape) => Kernel,
): (...shape: Shape) => Kernel {
  const written = new Map<string, Kernel>()
  return (...shape) => {
    const key = JSON.stringify(shape)
    let kernel = written.get(key)
    if (!kernel) {
      kernel = write(...shape)
      written.set(key, kernel)
    }
    return kernel
  }
}
