import type { Naming } from '../files/source.js'
import type { MatrixRole, Role, VectorRole } from '../model-plan.js'
import type { PlannedMatrix, PlannedVector } from '../planned.js'

/** A layer's tensors by their roles. */
export interface LayerTensors {
  readonly naming: Naming
  /** Rows of queries and keys are stored in pairs, which are turned together. */
  readonly interleaved: boolean
  /** `rows`: of each of its parts, where they are stored apart. */
  matrix(role: MatrixRole, rows: readonly number[], columns: number): PlannedMatrix
  /** Of so many experts, one below the other; of two parts those of all experts' first come before those of their second. */
  experts(role: MatrixRole, count: number, rows: readonly number[], columns: number): PlannedMatrix
  vector(role: VectorRole, length: number, shape?: readonly number[]): PlannedVector
  /** Whether there is something under this role. */
  has(role: Role): boolean
  /** What is there is not needed. */
  passOver(role: Role): void
  /** As `vector`, of a norm. */
  norm(role: VectorRole, length: number): PlannedVector
}
