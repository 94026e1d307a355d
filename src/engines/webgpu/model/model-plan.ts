/** What one decoder computes, whatever format its weights come in: layer by layer, as its architecture reads it. */
import type { Angles } from './angles.js'

export interface ModelPlan {
  readonly architecture: string
  readonly hidden: number
  /** Logits per position, padding included. */
  readonly vocabulary: number
  /** The longest sequence that the model was made for. */
  readonly contextLength: number
  /** Of all norms. */
  readonly epsilon: number
  readonly layers: readonly LayerPlan[]
  /** The token embeddings are the output head too; undefined: where the weights have no head of its own. */
  readonly tied: boolean | undefined
}

export interface LayerPlan {
  /** Heads of queries. */
  readonly heads: number
  /** Heads of keys, and of values. */
  readonly keyHeads: number
  readonly headSize: number
  /** Scores are multiplied by it. */
  readonly scale: number
  readonly angles: Angles
  /** Positions that a query sees, its own included; absent: all. */
  readonly window?: number
  /** Each head of queries and of keys is normed before it is turned. */
  readonly headNorm: boolean
  readonly intermediate: number
  /** Matrices that have a bias. */
  readonly biased: readonly MatrixRole[]
}

/** What a layer multiplies with. */
export type MatrixRole = 'qkv' | 'output' | 'gateUp' | 'down'
/** What a layer scales by. */
export type NormRole = 'attentionNorm' | 'queryNorm' | 'keyNorm' | 'mlpNorm'
/** What stands in a model once. */
export type ModelRole = 'embedding' | 'norm' | 'head'
export type Role = MatrixRole | NormRole | ModelRole
