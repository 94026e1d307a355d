/**
 * What the decoder is written against, and what both devices implement: WebGPU, which records a pass into one command
 * buffer, and the CPU, which computes it in WebAssembly. Everything here speaks of tensors. Activations are f32, row by
 * row; sums are accumulated in f32 or better. Calls that allocate throw a `V1Error` when the device cannot.
 *
 * `cpu/index.ts` exports `openCpuDevice(options?): Promise<Device>`, `gpu/index.ts` `openWebGpuDevice(options?)`.
 */

import type { Batch, SampledRow } from './contract/batch.js'
import type {
  Activations,
  CacheShape,
  GrowingMatrix,
  KeyValueCache,
  Matrix,
  MatrixData,
  MatrixShape,
  MatrixUse,
  ReadingRoom,
  Routing,
  RoutingShape,
  Sampler,
  SamplerShape,
  States,
  StatesShape,
  Vector,
} from './contract/tensors.js'
import type { ArgumentKinds, Functions, Operation } from './operations/define.js'

export * from './contract/batch.js'
export * from './contract/tensors.js'
export { GATES, type Gate, gateCode } from './operations/define.js'

export interface DeviceInfo {
  readonly kind: 'webgpu' | 'cpu'
  /** The adapter as it names itself, or the processor's features. */
  readonly name: string
  /** Why this device was taken, in a sentence for people. */
  readonly reason: string
  /** Identifies the arithmetic: two devices of the same value give the same tokens for the same weights. */
  readonly kernels: string
}

export interface DeviceLimits {
  /** The most bytes that a layer's cache, or a row of a matrix, may take. Larger matrices are kept in parts. */
  readonly tensorBytes: number
  /** The most bytes that all tensors together may take; absent where the device does not say. */
  readonly totalBytes?: number
  /** Rows (tokens) in one pass. */
  readonly rows: number
  /**
   * Passes of at most so many rows, unless they are steady, are computed in one way, longer ones in another that rounds
   * differently. Absent: a row's values never depend on the rows beside it.
   */
  readonly fewRows?: number
  /** Values in one attention head. */
  readonly headSize: number
}

/** Live device memory, staging and scratch included. Both are 0 once everything was destroyed. */
export interface MemoryUse {
  readonly bytes: number
  readonly buffers: number
}

export interface Device {
  readonly info: DeviceInfo
  readonly limits: DeviceLimits
  readonly memory: MemoryUse
  /** Resolves, with the reason as a `V1Error` 503, once the device is gone. Never resolves because of `destroy`. */
  readonly lost: Promise<Error>
  /** Uploads a matrix. The bytes may be reused when the call returns. */
  matrix(data: MatrixData, use?: MatrixUse): Matrix
  /** As `matrix`, of rows that are not all at hand at once: bands of so many, one below the other. */
  growingMatrix(bands: readonly MatrixShape[], use?: MatrixUse): GrowingMatrix
  /**
   * Room for so many bytes within reach of its kernels: rows that are read into it need not be copied on their way into a
   * matrix. Absent, or undefined: there is none.
   */
  stage?(bytes: number): ReadingRoom | undefined
  /** So many bytes will be asked for, piece by piece. Absent where it makes no difference. */
  reserve?(bytes: number): void
  /** Bytes that such a matrix would take. */
  matrixBytes(shape: MatrixShape): number
  /** Uploads a norm's weights, a bias or a table of angles. */
  vector(values: Float32Array): Vector
  /** Room for `rows` rows between operations. Contents are undefined at first. */
  activations(rows: number, columns: number): Activations
  routing(shape: RoutingShape): Routing
  cache(shape: CacheShape): KeyValueCache
  states(shape: StatesShape): States
  sampler(shape: SamplerShape): Sampler
  /** Starts a pass. Passes run in the order in which they are submitted; only one may be open at a time. */
  begin(batch: Batch): Pass
  /**
   * Compiles what the passes that `record` begins will need, so that their like need not wait for it; nothing is run.
   * Absent where there is nothing to compile.
   */
  prepare?(
    record: (begin: (batch: Batch) => Pass) => void,
    onProgress?: (done: number, of: number) => void,
  ): Promise<void>
  /** Resolves when all submitted work is done. */
  idle(): Promise<void>
  /** Of each thread, how many items it has done of what was shared out. Absent where there are no threads to count. */
  work?(): readonly number[]
  /** Frees everything, also what was not destroyed. Every later call fails. */
  destroy(): void
}

/**
 * One forward pass, recorded in order. Nothing may be read before `submit`. An output is none of the operation's inputs
 * unless said otherwise.
 */
export interface Pass {
  /** Tokens in the batch. */
  readonly rows: number
  /** Computes one of `operations`. */
  run<Operands extends readonly unknown[]>(
    operation: Operation<ArgumentKinds, Operands, Functions>,
    ...operands: Operands
  ): void
  /**
   * Does what `record` does, which runs operations that hang on nothing but these facts, what `owner` has, and the rows of
   * the batch: a device may repeat what they came to when all was as now.
   */
  repeated(owner: object, facts: readonly unknown[], record: () => void): void
  /** Fills pages of all layers with zeros, before anything else of this pass. */
  clearPages(cache: KeyValueCache, pages: readonly number[]): void
  /** Copies pages of all layers, before anything else of this pass but what is cleared. */
  copyPages(cache: KeyValueCache, pairs: readonly { readonly from: number; readonly to: number }[]): void
  /** Fills the first rows, before anything else of this pass. The values may be reused when the call returns. */
  write(out: Activations, values: Float32Array): void
  /** A copy of the first `rows` rows at this point of the pass, for tests and diagnosis. */
  read(x: Activations, rows: number): Promise<Float32Array>
  /** Runs the pass. Resolves with what was sampled; rejects with a `V1Error` 503 when the device was lost. */
  submit(): Promise<readonly SampledRow[]>
}
