import type { BatchShape } from '../operations/index.js'
import type { Arguments, OperationName } from './abi.js'
import type { PlacedBatch } from './batch.js'
import type { Sharing } from './program.js'

/** A pass, to those who record its operations. */
export interface PassRecorder {
  readonly rows: number
  readonly shape: BatchShape
  readonly batch: PlacedBatch
  add<N extends OperationName>(name: N, items: number, args: Arguments<N>, sharing?: Sharing): void
  /** Where these values are then, as long as the pass lives. */
  put(values: Int32Array): number
  /** Room of which each thread has its part, `stride` bytes apart, shared by those who name the same `rooms`. */
  perThread(bytes: number, rooms?: Map<number, number>): { readonly at: number; readonly stride: number }
}
