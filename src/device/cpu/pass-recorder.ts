import type { BatchShape, CpuRecorder } from '../operations/define.js'
import type { Arguments, OperationName } from './abi.js'
import type { PlacedBatch } from './batch.js'
import type { Sharing } from './program.js'

/** A pass, to those who record its operations. */
export interface PassRecorder extends CpuRecorder {
  readonly shape: BatchShape
  readonly batch: PlacedBatch
  add<N extends OperationName>(name: N, items: number, args: Arguments<N>, sharing?: Sharing): void
  /** As for all, but shared only by those who name the same `rooms`. */
  perThread(bytes: number, rooms?: Map<number, number>): { readonly at: number; readonly stride: number }
}
