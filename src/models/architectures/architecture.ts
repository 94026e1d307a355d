/** What one architecture is: a file each beside this one, and a line in `index.ts`. */

import type { Gate } from '../../device/index.js'
import type { JsonObject } from '../../platform/index.js'
import type { Naming } from '../files/source.js'
import type { LayerPlan, LayerShape, MatrixRole, ModelPlan, Role } from '../model-plan.js'
import type { Fields } from './fields.js'
import type { GgufForm } from './gguf.js'
import type { ReadAngles } from './read-angles.js'

export interface Architecture {
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
  /** What fields of its configuration are where they are missing. */
  readonly defaults?: JsonObject
  /** Flags that may have one value only, which is also what is meant where they are missing. */
  readonly only?: Readonly<Record<string, boolean>>
  /** Fields that change nothing here, whatever their names say. */
  readonly unused?: readonly string[]
  /** Refuses what the rest does not see; and gives the configuration in the words of the others, where its own differ. */
  prepare?(fields: Fields): Fields | undefined
  /** What it has beside its layers. */
  beside?(fields: Fields, plan: DecoderPlan): Partial<ModelPlan>
  /** What one of its layers is: each file ends in this. */
  layer(fields: Fields): LayerParts
}

export type DecoderPlan = Omit<ModelPlan, 'architecture'>

export interface LayerParts {
  readonly mixer: MixerReading
  readonly feedForward: FeedForwardReading
  readonly arrangement: LayerPlan['arrangement']
  /** @default what the configuration says of `attention_bias` and `mlp_bias` */
  readonly biased?: readonly MatrixRole[]
  readonly scaled?: boolean
}

/** A mixer as a configuration describes it: of each layer, by its number. */
export interface MixerReading extends Omit<ReadAngles, 'angles'> {
  of(layer: number): MixerPlan
}

export type MixerOf<Layer extends LayerPlan> = Omit<Layer, keyof LayerShape>
/** Where it has other biases than the rest of its layer would have, it says so. */
export type MixerPlan = {
  [Kind in LayerPlan['kind']]: MixerOf<Extract<LayerPlan, { kind: Kind }>>
}[LayerPlan['kind']] &
  Partial<Pick<LayerShape, 'biased'>>

export interface FeedForwardReading {
  /** What its gates go through. @default 'silu' */
  readonly gate?: Gate
  of(layer: number): Pick<LayerShape, 'feedForward' | 'curve'>
}

/** Tensors without `.weight`; `#` stands for the layer's number, `*` for an expert's. Several lie one below the other in one matrix. */
export type Names = Readonly<Partial<Record<Role, string | readonly string[]>>>
