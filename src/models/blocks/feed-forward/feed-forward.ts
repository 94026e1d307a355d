/** What a layer does with each row by itself, once its mixer's rows are added. */
import type { Activations, Device, Gate, MatmulOptions, Pass } from '../../../device/index.js'
import type { FeedForwardPlan } from '../../model-plan.js'
import type { LayerTensors, PlannedLayer } from '../../planned.js'
import type { BiasedMatrix, LayerWeights } from '../../weights.js'

/** What it needs between its products, for passes of so many rows. Layers whose plans are alike share it. */
export interface FeedForwardRoom {
  destroy(): void
}

export interface FeedForwardRun<Plan extends FeedForwardPlan, Room extends FeedForwardRoom> {
  readonly pass: Pass
  readonly plan: Plan
  readonly weights: LayerWeights
  readonly room: Room
  /** What it reads, and so many of its rows. */
  readonly hidden: Activations
  readonly rows: number
  /** Of the rows that it reads. */
  readonly norm: MatmulOptions['norm']
  readonly gate: Gate
  /** Of other norms. */
  readonly epsilon: number
  /** Ends it: a product is added to the stream. */
  addProduct(matrix: BiasedMatrix, x: Activations): void
  /** Or rows are, as they are. */
  addRows(x: Activations): void
}

export interface FeedForward<Plan extends FeedForwardPlan, Room extends FeedForwardRoom> {
  plan(find: LayerTensors, plan: Plan, hidden: number): PlannedLayer
  /** Columns of all that it writes for a row, the forms in which a processor multiplies them not counted, and those. */
  widths(plan: Plan, hidden: number): { readonly written: number; readonly prepared: number }
  room(device: Device, plan: Plan, hidden: number, rows: number): Room
  run(run: FeedForwardRun<Plan, Room>): void
}
