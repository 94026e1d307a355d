/** What a layer does before its last matrix but for the MLP: the part in which the tokens of a sequence meet. */

import type { Activations, KeyValueCache, MatmulOptions, Pass, States } from '../../../device/index.js'
import type { LayerPlan } from '../../model-plan.js'
import type { LayerTensors, PlannedLayer } from '../../planned.js'
import type { LayerWeights } from '../../weights.js'

/** Columns of what a mixer writes. */
export interface Widths {
  /** What the first product gives. */
  readonly input: number
  /** What it needs beside that. */
  readonly between?: readonly number[]
  /** What the last product takes. */
  readonly mixed: number
}

export interface MixerRun<Layer extends LayerPlan> {
  readonly pass: Pass
  readonly layer: Layer
  readonly weights: LayerWeights
  readonly hidden: Activations
  /** Of the rows that it reads. */
  readonly norm: MatmulOptions['norm']
  /** Of `room.mixed` these rows alone are read; where there are none, only later rows need anything. @default all */
  readonly wanted: Int32Array | undefined
  /** Of other norms. */
  readonly epsilon: number
  readonly room: { readonly input: Activations; readonly between: readonly Activations[]; readonly mixed: Activations }
  /** Where a layer of attention has its keys and values. */
  readonly cache: { readonly of: KeyValueCache; readonly layer: number } | undefined
  /** Where any other has its states: the first of them. */
  readonly state: { readonly of: States; readonly first: number } | undefined
}

export interface Mixer<Layer extends LayerPlan> {
  /** Its tensors. Norms and the MLP, which every layer has, are none of its business. */
  plan(find: LayerTensors, layer: Layer, hidden: number): PlannedLayer
  widths(layer: Layer, hidden: number): Widths
  /** How many values each state has that it keeps of a sequence. Keys and values are not counted. */
  states(layer: Layer, hidden: number): readonly number[]
  /** From all rows of a pass to `room.mixed`, and what later rows need of them to cache or states. */
  run(run: MixerRun<Layer>): void
}
