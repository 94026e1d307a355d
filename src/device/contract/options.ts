/** How the operations of a pass may be asked for. */
import type { Vector } from './tensors.js'

export interface ProjectOptions {
  /** Rows of `x`. @default all rows of the pass */
  readonly rows?: number
  /** The product is taken of x / rms(x) * weight, rms(x) = sqrt(mean(x^2) + epsilon), instead of x. */
  readonly norm?: { readonly weight: Vector; readonly epsilon: number } | undefined
  readonly bias?: Vector | undefined
  /** out += instead of out =. Not with `gated`. */
  readonly add?: boolean
  /**
   * The matrix holds gates in its first half and values in its second: out = silu(gate) * value, half as many columns.
   * @default false
   */
  readonly gated?: boolean
  /** What a gate goes through. @default 'silu' */
  readonly gate?: Gate | undefined
}

/**
 * `gelu` is the one that is computed by tanh, `gelu_erf` the exact one; `relu2` is relu times itself. `clamped` is gpt-oss's: of
 * at most 7, x * sigmoid(1.702 x); what it is multiplied with lies between -7 and 7, and gets one more.
 */
export const GATES = ['silu', 'gelu', 'gelu_erf', 'sigmoid', 'relu', 'relu2', 'clamped'] as const
export type Gate = (typeof GATES)[number]
/** As the CPU's kernels know it; 0 is none. */
export const gateCode = (gate: Gate): number => GATES.indexOf(gate) + 1

/** What sets a layer's norm apart from that of the root mean square. */
export interface Centring {
  /** Of x - mean(x). */
  readonly centred?: boolean | undefined
  /** Added last. */
  readonly bias?: Vector | undefined
}

/** Where attention finds things in a row of `qkv`: `heads` queries; what follows is not looked at. */
export interface AttentionShape {
  /** Heads of queries: a multiple of the cache's. */
  readonly heads: number
  /**
   * A query sees no position after its own. Otherwise it sees to the end of its sequence, all of which lies in the pass,
   * as far as its window reaches in that direction too.
   * @default true
   */
  readonly causal?: boolean | undefined
  /** Positions that a query sees, its own included; absent: all. */
  readonly window?: number | undefined
  /** Scores are multiplied by it. */
  readonly scale: number
  /** A score s is then capped: cap * tanh(s / cap). @default it is not */
  readonly cap?: number | undefined
  /** For each head of queries a score that takes its share of the softmax, and gives nothing. @default there are none */
  readonly sinks?: Vector | undefined
  /** Nobody reads what comes of other rows: it may be anything. @default all are read */
  readonly rows?: Int32Array | undefined
}

export interface Growth {
  readonly by: number
  readonly every: number
}

export interface PlaceOptions {
  readonly heads: number
  /** There are queries alone in a row, for keys and values that are in the cache. */
  readonly queriesOnly?: boolean | undefined
  /** Queries at position p are multiplied with 1 + by * ln(1 + floor(p / every)). */
  readonly growth?: Growth | undefined
  /** cos and sin, [positions][headSize / 2][2]: value i of a head is turned with value i + headSize / 2. */
  readonly angles: Vector
  /** Each head of queries and of keys is normed before it is turned. */
  readonly headNorm?: { readonly query: Vector; readonly key: Vector; readonly epsilon: number }
}
