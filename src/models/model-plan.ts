/** What one decoder computes, whatever format its weights come in: layer by layer, as its architecture reads it. */
import type { Gate, Growth, TopKExpertsOptions } from '../device/index.js'
import type { Angles } from './angles.js'

/** What a configuration may ask of a convolution at most. */
export { MAX_TAPS } from '../device/index.js'

export interface ModelPlan {
  readonly architecture: string
  readonly hidden: number
  /** Logits per position, padding included. */
  readonly vocabulary: number
  /** The longest sequence that the model was made for. */
  readonly contextLength: number
  /** Texts of more tokens are turned by other angles, from their first token on. @default none are */
  readonly border?: number
  /** Of all norms. */
  readonly epsilon: number
  readonly layers: readonly LayerPlan[]
  /** Token embeddings are multiplied by it. */
  readonly embeddingScale?: number
  /** What a layer adds is multiplied by it. */
  readonly residualScale?: number
  readonly logitScale?: number
  /** A logit x becomes cap * tanh(x / cap). */
  readonly logitCap?: number
  /** Norms of the stream take the mean away first: no product does, so that their rows are normed apart. */
  readonly centred?: boolean
  /** What they give has a bias, which is added last; so has the head. */
  readonly normBias?: boolean
  readonly headBias?: boolean
  /** What is added to the weights of all norms as transformers stores them; elsewhere it is in them. */
  readonly normOffset?: number
  /** What the gates of the MLP go through. @default 'silu' */
  readonly gate?: Gate
  /** Gemma 4: what each layer is given of a token beside the stream: see `blocks/per-layer-embedding.ts`. */
  readonly perLayer?: PerLayerPlan
  /** In place of logits its head makes rows of so many numbers, with a bias. */
  readonly rowLength?: number
  /** Its layers behind the last, which guess: see `blocks/draft-head.ts`. Absent: it has none, or none is used. */
  readonly draftHead?: DraftHeadPlan
  /** The token embeddings are the output head too; undefined: where the weights have no head of its own. */
  readonly tied: boolean | undefined
}

export interface DraftHeadPlan {
  /** How many there are; only one alone is used. */
  readonly layers: number
  readonly layer: AttentionLayer
}

export interface PerLayerPlan {
  /** Of each layer's vector. */
  readonly size: number
  /** Rows of the second table are multiplied by it. */
  readonly scale: number
  /** And the sum of both. */
  readonly sumScale: number
}

/** What every layer has, whatever it mixes the tokens of a sequence with. */
export interface LayerShape {
  /** Where norms stand: before mixer and feed-forward, after them, or both; or before both at once, which stand side by side. */
  readonly arrangement: 'before' | 'after' | 'both' | 'parallel'
  readonly feedForward: FeedForwardPlan
  /** Last of all the whole stream is multiplied by a number of the layer's. */
  readonly scaled?: boolean
  /** Where an MLP without gates has learned its activation: see `xielu`. */
  readonly curve?: readonly number[] | 'stored'
  /** Matrices that have a bias. */
  readonly biased: readonly MatrixRole[]
}

/** What a layer does with each row by itself. */
export type FeedForwardPlan = GatedPlan | UngatedPlan | ExpertsPlan | MixedPlan

/** Gates and values of `size`, whose product goes through the last matrix. */
export interface GatedPlan {
  readonly kind: 'gated'
  readonly size: number
}

/** One matrix, an activation, another matrix. */
export interface UngatedPlan {
  readonly kind: 'ungated'
  readonly size: number
}

/** A router sends each row to some of many gated MLPs, whose results are weighed and added up. */
export interface ExpertsPlan extends Pick<TopKExpertsOptions, 'scores' | 'normed' | 'scale'> {
  readonly kind: 'experts'
  /** How many there are, and to how many a row goes. */
  readonly experts: number
  readonly chosen: number
  /** Of each expert. */
  readonly size: number
  /** What each gives is multiplied by a number of its own. */
  readonly factors?: boolean
  /** Something is added to what they are chosen by. */
  readonly choiceBias?: boolean
  /** A gated MLP that all rows go through beside them. `weighed`: by a score of its own, behind those of the experts. */
  readonly shared?: { readonly size: number; readonly weighed: boolean }
}

/**
 * Gemma 4: a gated MLP of `size` and experts beside it. These read rows that are normed by themselves, and their router
 * others; what each of both gives is normed before it is added to the other.
 */
export interface MixedPlan {
  readonly kind: 'mixed'
  readonly size: number
  readonly experts: ExpertsPlan
}

/** Keeps keys and values of all tokens in the cache, or sees those of another layer. */
export interface AttentionLayer extends LayerShape {
  readonly kind: 'attention'
  /** Heads of queries. */
  readonly heads: number
  /** Heads of keys, and of values. */
  readonly keyHeads: number
  readonly headSize: number
  /** Scores are multiplied by it. */
  readonly scale: number
  /** Scores are capped as logits are. */
  readonly scoreCap?: number
  readonly angles: Angles
  /** Queries grow with their positions: see `RopeOptions`. */
  readonly growth?: Growth
  /** A query sees nothing after its own position. @default true */
  readonly causal?: boolean
  /** Positions that a query sees, its own included; absent: all. Where it is not causal, as many in the other direction. */
  readonly window?: number
  /** Queries and keys are normed before they are turned: each head by itself, or all heads of a row together. */
  readonly queryKeyNorm?: 'head' | 'row'
  /** Where files have no values of their own, these are what keys are made of, before their norm. */
  readonly keysMayBeValues?: boolean
  /** Each head of values is normed, without a weight. */
  readonly valueNorm?: boolean
  /** Each head has a score more in its softmax, which takes its share and gives nothing. */
  readonly sinks?: boolean
  /** It has no keys and values of its own: it sees those of this earlier layer. */
  readonly keysOf?: number
  /** What it gives is multiplied with gates of as many columns, stored behind the query of each head. */
  readonly outputGate?: boolean
}

/** LFM2: in -> B | C | x, out = C * convolution(B * x). Keeps the last inputs of the convolution. */
export interface ConvolutionLayer extends LayerShape {
  readonly kind: 'convolution'
  /** Tokens that an output sees, its own included. */
  readonly taps: number
  /** Its own is in the middle of them: nothing is kept, and texts are read whole. @default it is the last */
  readonly centred?: boolean
}

/** Qwen3.5: see `Pass.delta`. Keeps the last inputs of a convolution, and a matrix for each head of values. */
export interface DeltaLayer extends LayerShape {
  readonly kind: 'delta'
  readonly keyHeads: number
  readonly valueHeads: number
  /** Value head j goes with key head j % keyHeads, not with j / (valueHeads / keyHeads). */
  readonly tiled?: boolean
  readonly keySize: number
  readonly valueSize: number
  readonly taps: number
}

export type LayerPlan = AttentionLayer | ConvolutionLayer | DeltaLayer

/** What a layer multiplies with. `mixerIn` and `mixerOut` stand for `qkv` and `output` where the mixer is no attention. */
export type MatrixRole =
  | 'qkv'
  /** Where keys and values are those of another layer. */
  | 'query'
  /** Where values are what keys are made of; and what is there where they are not. */
  | 'queryKey'
  | 'value'
  | 'output'
  | 'mixerIn'
  | 'rates'
  | 'mixerOut'
  | 'gateUp'
  /** Where there are no gates. */
  | 'up'
  | 'down'
  /** Of experts: what scores them, and all their matrices, one below the other. */
  | 'router'
  | 'expertsIn'
  | 'expertsOut'
  /** Of what all rows go through beside them. */
  | 'sharedIn'
  | 'sharedOut'
  | 'perLayerIn'
  | 'perLayerOut'
/** What a layer scales, weighs or adds. */
export type VectorRole =
  | 'attentionNorm'
  | 'queryNorm'
  | 'keyNorm'
  | 'valueNorm'
  | 'sinks'
  | 'taps'
  | 'speed'
  | 'delay'
  | 'headNorm'
  | 'attentionAfter'
  | 'mlpNorm'
  | 'choiceBias'
  | 'expertFactors'
  | 'curve'
  /** Of a router, and of experts beside an MLP, before and after; and of that MLP. */
  | 'routerNorm'
  | 'expertsNorm'
  | 'expertsAfter'
  | 'denseAfter'
  | 'mlpAfter'
  | `${'attentionNorm' | 'attentionAfter' | 'mlpNorm' | 'mlpAfter'}Bias`
  | 'perLayerAfter'
  | 'total'
/** What stands in a model once. */
export type ModelRole =
  | 'embedding'
  | 'norm'
  | 'head'
  | 'rows'
  | 'perLayerTable'
  | 'perLayerProduct'
  | 'perLayerNorm'
  /** Of a head that guesses: what norms a token and the row before it, what joins both, and its last norm. */
  | 'draftTokenNorm'
  | 'draftRowNorm'
  | 'draftIn'
  | 'draftNorm'
  /** Tables of its own, with which it is not used. */
  | 'draftTables'
export type Role = MatrixRole | VectorRole | ModelRole
