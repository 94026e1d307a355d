/** What one architecture is: a file each beside this one, and a line in `index.ts`. */

import type { Naming } from '../files/source.js'
import type { ModelPlan, Role } from '../model-plan.js'
import type { Fields } from './fields.js'
import type { GgufForm } from './gguf.js'

export interface Architecture {
  /** Reads every field of the configuration that says something about the arithmetic. */
  read(fields: Fields): Omit<ModelPlan, 'architecture'>
  /** Of the formats in which it can be read. */
  readonly names: Readonly<Partial<Record<Naming, Names>>>
  /** Of these roles, how other programs name them in the same format; where a file has them so. */
  readonly others?: Readonly<Partial<Record<Naming, readonly Names[]>>>
  /** Rows of queries and keys are stored in pairs, which are turned together, in every format. */
  readonly interleaved?: boolean
  /** Absent: it is not read from GGUF files. */
  readonly gguf?: GgufForm
  /** What may stand in place of `model.` where the decoder is a part of something larger. */
  readonly prefixes?: readonly string[]
  /** How its head that guesses calls its layer, in place of `model.layers.#`; absent: no head is used. */
  readonly draftLayer?: Readonly<Partial<Record<Naming, string>>>
  /** Tensors that files carry along and that nobody needs. */
  readonly idle?: RegExp
}

/** Tensors without `.weight`; `#` stands for the layer's number, `*` for an expert's. Several lie one below the other in one matrix. */
export type Names = Readonly<Partial<Record<Role, string | readonly string[]>>>
