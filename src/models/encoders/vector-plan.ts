/** The plan of an encoder, and of the layers after its rows. */
import type { Gate } from '../../device/index.js'

/** BERT's kind: every token sees all others, and positions are learned. */
export interface EncoderPlan {
  readonly architecture: string
  readonly hidden: number
  readonly vocabulary: number
  readonly layers: number
  readonly heads: number
  readonly intermediate: number
  readonly gate: Gate
  /** Of all norms. */
  readonly epsilon: number
  /** Learned positions, and the one at which a text begins. */
  readonly positions: number
  readonly firstPosition: number
  /** Texts that may stand in one input. */
  readonly types: number
}

/** From the rows of a text to its vector. */
export interface VectorPlan {
  readonly pool: 'mean' | 'first' | 'last'
  /** Of what was pooled. */
  readonly norm?: NormPlan
  /** Products after it. */
  readonly dense: readonly DensePlan[]
  /** Numbers of the vector. */
  readonly size: number
  /** Tokens of a text that it was made for. */
  readonly most: number
}

export interface DensePlan {
  /** Of its tensors, without suffix. */
  readonly name: string
  readonly rows: number
  readonly columns: number
  readonly bias: boolean
  readonly tanh: boolean
  /** What becomes of each of its numbers then, and of all together after that. */
  readonly gate?: Gate
  readonly norm?: NormPlan
}

export interface NormPlan {
  /** Of its tensors, without suffix. */
  readonly name: string
  readonly epsilon: number
}

/** The task of a model, as its files say. */
export type Purpose = 'chat' | 'embed' | 'rank' | 'classify' | 'decide'
