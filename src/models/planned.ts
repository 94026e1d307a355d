/** Which stored tensors make the decoder's matrices and vectors. */

import type { PlainFormat } from '../device/index.js'
import { type BlockType, blockBytes, isBlockType } from '../platform/index.js'
import type { Naming } from './files/source.js'
import type { MatrixRole, Role, VectorRole } from './model-plan.js'

export type StoredForm = 'q4' | PlainFormat | BlockType

/** Whether four bits are less than what it has: some blocks have as few, or fewer. */
export function canShrink(stored: StoredForm): stored is PlainFormat | BlockType {
  if (isBlockType(stored)) return 8 * blockBytes(stored, 256) > 5 * 256
  return stored !== 'q4'
}

export interface PlannedPart {
  readonly name: string
  readonly rows: number
  readonly stored: StoredForm
  /** As it is stored, where that is not [rows][columns]: those of all experts in one. */
  readonly shape?: readonly number[]
  /** Its name has no suffix. */
  readonly bare?: boolean
}

/** As its file calls it. */
export const storedName = ({ name, bare }: PlannedPart): string => (bare ? name : `${name}.weight`)

export interface PlannedMatrix {
  /** Without their suffixes; they lie one below the other, and may differ in form. */
  readonly parts: readonly PlannedPart[]
  readonly rows: number
  readonly columns: number
  /** Of 4-bit weights, and of those that become such on their way. */
  readonly scaleType: 'f16' | 'f32'
  /** What of it has more than five bits gets four on its way to the device. */
  readonly quantize: boolean
  readonly bias?: PlannedVector
  /** It has those of so many experts. `halves`: the first halves of all come before the second ones. */
  readonly experts?: { readonly count: number; readonly halves: boolean }
  /** Which stored row comes where; `rows` counts them as they are stored. @default as they are stored */
  readonly order?: readonly number[]
}

/** Rows of one form each, as they reach the device. */
export function bandForms({
  parts,
  columns,
  quantize,
}: PlannedMatrix): { format: StoredForm; rows: number; columns: number }[] {
  const bands: { format: StoredForm; rows: number; columns: number }[] = []
  for (const { rows, stored } of parts) {
    const format = quantize && canShrink(stored) ? 'q4' : stored
    const last = bands.at(-1)
    if (last?.format === format) last.rows += rows
    else bands.push({ format, rows, columns })
  }
  return bands
}

export interface PlannedVector {
  /** In whole; they follow each other. */
  readonly parts: readonly { readonly name: string; readonly length: number; readonly shape?: readonly number[] }[]
  /** Values that are stored. */
  readonly length: number
  /** They are known already, and no tensor has them. */
  readonly values?: readonly number[]
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
  readonly normBias?: PlannedVector
  /** Absent: the embedding. */
  readonly head?: PlannedMatrix
  readonly perLayer?: PlannedPerLayer
  readonly draftHead?: PlannedDraftHead
  /** Why the weights' head that guesses is left out, where it was asked for. */
  readonly draftHeadUnused?: string
}

export interface PlannedDraftHead {
  readonly tokenNorm: PlannedVector
  readonly rowNorm: PlannedVector
  readonly input: PlannedMatrix
  readonly layer: PlannedLayer
  readonly norm: PlannedVector
}

export interface PlannedPerLayer {
  /** Stay with the host: the device is given their rows, side by side, as tokens come. */
  readonly tables: readonly PlannedMatrix[]
  readonly product: PlannedMatrix
  readonly norm: PlannedVector
}

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
