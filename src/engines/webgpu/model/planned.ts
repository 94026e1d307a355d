/** Which stored tensors make the decoder's matrices and vectors. */
import type { TensorType } from '../../../repository/source.js'
import type { MatrixRole, VectorRole } from './model-plan.js'

export interface PlannedMatrix {
  /** Without their suffixes; they lie one below the other. */
  readonly parts: readonly { readonly name: string; readonly rows: number }[]
  readonly rows: number
  readonly columns: number
  readonly stored: 'q4' | Exclude<TensorType, 'u32'>
  /** Of 4-bit weights, and of those that become such on their way. */
  readonly scaleType: 'f16' | 'f32'
  /** It is stored plain and gets four bits on its way to the device. */
  readonly quantize: boolean
  readonly bias?: PlannedVector
  /** Which stored row comes where; `rows` counts them as they are stored. @default as they are stored */
  readonly order?: readonly number[]
}

export interface PlannedVector {
  /** In whole; they follow each other. */
  readonly parts: readonly { readonly name: string; readonly length: number; readonly shape?: readonly number[] }[]
  /** Values that are stored. */
  readonly length: number
  /** Which stored value comes where; -1: a zero. */
  readonly order?: readonly number[]
  /** Each value v becomes e^v times it. */
  readonly exponent?: number
  /** Each value v becomes (v + offset) * scale. */
  readonly offset?: number
  readonly scale?: number
}

export interface PlannedLayer {
  readonly matrices: Readonly<Partial<Record<MatrixRole, PlannedMatrix>>>
  readonly vectors: Readonly<Partial<Record<VectorRole, PlannedVector>>>
}

export interface PlannedTensors {
  readonly embedding: PlannedMatrix
  readonly layers: readonly PlannedLayer[]
  readonly norm: PlannedVector
  /** Absent: the embedding. */
  readonly head?: PlannedMatrix
  readonly beside?: PlannedBeside
}

export interface PlannedBeside {
  /** Stays with the host: the device is given its rows as tokens come. */
  readonly table: PlannedMatrix
  readonly product: PlannedMatrix
  readonly norm: PlannedVector
}
