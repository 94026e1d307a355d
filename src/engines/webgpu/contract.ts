/**
 * What the decoder is written against, and what both devices implement: WebGPU, which records a pass into one command
 * buffer, and the CPU, which computes it in WebAssembly. Everything here speaks of tensors. Activations are f32, row by
 * row; sums are accumulated in f32 or better. Calls that allocate throw a `V1Error` when the device cannot.
 *
 * `cpu/index.ts` exports `openCpuDevice(options?): Promise<Device>`, `webgpu.ts` `openWebGpuDevice(options?)`.
 */
import { type BlockType, blockBytes, isBlockType } from '../../platform/block-types.js'

/** Positions per page of the key/value cache. */
export const PAGE = 16
/** Weights per scale of a 4-bit matrix. */
export const Q4_BLOCK = 32
/** Tokens that a convolution sees at most, its own included. */
export const MAX_TAPS = 4
/** How many alternatives `topLogprobs` may ask for. */
export const MAX_TOP = 20

export interface DeviceInfo {
  readonly kind: 'webgpu' | 'cpu'
  /** The adapter as it names itself, or the processor's features. */
  readonly name: string
  /** Why this device was taken, in a sentence for people. */
  readonly reason: string
  /** Identifies the arithmetic: two devices of the same value give the same tokens for the same weights. */
  readonly kernels: string
}

export interface DeviceLimits {
  /** The most bytes that a layer's cache, or a row of a matrix, may take. Larger matrices are kept in parts. */
  readonly tensorBytes: number
  /** The most bytes that all tensors together may take; absent where the device does not say. */
  readonly totalBytes?: number
  /** Rows (tokens) in one pass. */
  readonly rows: number
  /**
   * Passes of at most so many rows are computed in one way, longer ones in another that rounds differently. Absent: a
   * row's values never depend on the rows beside it.
   */
  readonly fewRows?: number
  /** Values in one attention head. */
  readonly headSize: number
}

/** Live device memory, staging and scratch included. Both are 0 once everything was destroyed. */
export interface MemoryUse {
  readonly bytes: number
  readonly buffers: number
}

export interface Device {
  readonly info: DeviceInfo
  readonly limits: DeviceLimits
  readonly memory: MemoryUse
  /** Resolves, with the reason as a `V1Error` 503, once the device is gone. Never resolves because of `destroy`. */
  readonly lost: Promise<Error>
  /**
   * Uploads a matrix. The bytes may be reused when the call returns. `gated`: it will be projected with as `gated`, and
   * only so; a device that keeps it in parts must know.
   */
  matrix(data: MatrixData, options?: { readonly gated?: boolean }): Matrix
  /** Bytes that such a matrix would take. */
  matrixBytes(shape: MatrixShape): number
  /** Uploads a norm's weights, a bias or a table of angles. */
  vector(values: Float32Array): Vector
  /** Room for `rows` rows between operations. Contents are undefined at first. */
  activations(rows: number, columns: number): Activations
  cache(shape: CacheShape): KeyValueCache
  states(shape: StatesShape): States
  sampler(shape: SamplerShape): Sampler
  /** Starts a pass. Passes run in the order in which they are submitted; only one may be open at a time. */
  begin(batch: Batch): Pass
  /**
   * Compiles what the passes that `record` begins will need, so that their like need not wait for it; nothing is run.
   * Absent where there is nothing to compile.
   */
  prepare?(
    record: (begin: (batch: Batch) => Pass) => void,
    onProgress?: (done: number, of: number) => void,
  ): Promise<void>
  /** Resolves when all submitted work is done. */
  idle(): Promise<void>
  /** Frees everything, also what was not destroyed. Every later call fails. */
  destroy(): void
}

interface Resource {
  /** Device memory it takes. */
  readonly bytes: number
  /** Frees it once submitted passes no longer need it. A second call does nothing. */
  destroy(): void
}

/** W of y = W x: `rows` outputs, `columns` inputs. */
export interface Matrix extends Resource {
  readonly rows: number
  readonly columns: number
}
export interface Vector extends Resource {
  readonly length: number
}
/** Scratch that an operation needs beside its output may hang on the output. */
export interface Activations extends Resource {
  readonly rows: number
  readonly columns: number
}
export interface KeyValueCache extends Resource {
  readonly shape: CacheShape
}
export interface States extends Resource {
  readonly shape: StatesShape
}
export interface Sampler extends Resource {
  readonly shape: SamplerShape
}

/** What decides how many bytes a matrix, or a band of one, takes. */
export interface MatrixShape {
  readonly format: MatrixBand['format']
  readonly rows: number
  readonly columns: number
  /** Of 4-bit weights. */
  readonly scaleType: 'f16' | 'f32'
}

/** Whose rows are not all of one form has these one below the other. */
export type MatrixData =
  | MatrixBand
  | { readonly format: 'mixed'; readonly rows: number; readonly columns: number; readonly bands: readonly MatrixBand[] }

export type MatrixBand =
  | {
      /** MLC's 4-bit form: value = (code - 7) * scale. `columns` is a multiple of 32. */
      readonly format: 'q4'
      readonly rows: number
      readonly columns: number
      /** u32 [rows][columns / 8], eight codes each, lowest first; little-endian. */
      readonly codes: Uint8Array
      /** [rows][columns / 32] */
      readonly scales: Uint8Array
      readonly scaleType: 'f16' | 'f32'
    }
  | {
      /** Numbers, or ggml's blocks as they lie in a file. `columns` is a multiple of 8, or of a block's values. */
      readonly format: PlainFormat | BlockType
      readonly rows: number
      readonly columns: number
      /** [rows][columns], little-endian. */
      readonly data: Uint8Array
    }

export type PlainFormat = 'f32' | 'f16' | 'bf16'

/** Bytes of a row as it is handed over. */
export function rowBytes(format: PlainFormat | BlockType, columns: number): number {
  if (isBlockType(format)) return blockBytes(format, columns)
  return columns * (format === 'f32' ? 4 : 2)
}

export const bandsOf = (data: MatrixData): readonly MatrixBand[] => (data.format === 'mixed' ? data.bands : [data])

export interface CacheShape {
  readonly layers: number
  readonly pages: number
  /** Heads of keys, and of values. */
  readonly heads: number
  /** A multiple of 4. */
  readonly headSize: number
  /** The least precision in which keys and values are kept. */
  readonly type: 'f16' | 'f32'
  /** Its layers see a window alone: a sequence lies on its `windowPages`. */
  readonly sliding?: boolean
}

/**
 * What layers keep of a sequence where that is not all its keys and values: so many values, which every token changes. A
 * slot has room for those of one sequence at one length.
 */
export interface StatesShape {
  readonly slots: number
  /** Values of each state. */
  readonly sizes: readonly number[]
}

export interface SamplerShape {
  /** Logits per row. */
  readonly vocabulary: number
  /** Ids at and above it are padding: never sampled, in no distribution. */
  readonly tokens: number
  /** Rows that one pass may sample. */
  readonly rows: number
  /** Places for tokens that later passes continue from. */
  readonly slots: number
}

/** The sequences that a pass advances, one span each. Its rows are their tokens in order. */
export interface Batch {
  readonly spans: readonly Span[]
  /** Whose slots the `slotToken`s mean. */
  readonly sampler?: Sampler
}

export interface Span {
  /** Ids; `slotToken(s)` stands for the token that an earlier pass sampled into slot s. */
  readonly tokens: Int32Array
  /** Position of the first token. */
  readonly position: number
  /** The sequence's pages in order: at least up to its last token's position. */
  readonly pages: Int32Array
  /** The same for caches that slide; those that no row of the pass sees are never looked at. */
  readonly windowPages?: Int32Array | undefined
  /** What each token is embedded by beside itself: rows of a second table. @default their positions */
  readonly places?: Int32Array | undefined
  /**
   * The slot that has the sequence's states before its first token, or `NO_STATE`, and the one for those after its last,
   * which may be the same. Of a pass's spans, no slot that one writes is another's. Absent: no layer has a state.
   */
  readonly state?: SpanState
}

export interface SpanState {
  readonly from: number
  readonly to: number
}

/** In place of a slot: nothing came before, all values are zero. */
export const NO_STATE = -1

/** Stands in `Span.tokens` for a token that has not been read back. */
export function slotToken(slot: number): number {
  return -1 - slot
}

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

/** `gelu` is the one that is computed by tanh, `gelu_erf` the exact one. */
export const GATES = ['silu', 'gelu', 'gelu_erf', 'sigmoid'] as const
export type Gate = (typeof GATES)[number]

export interface JoinOptions {
  /** @default all rows of the pass */
  readonly rows?: number
  /** As in `ProjectOptions`, over the columns that are joined; or one that takes the mean away first. */
  readonly norm?: (NonNullable<ProjectOptions['norm']> & Centring) | undefined
  /** @default 1 */
  readonly scale?: number
  /** out += instead of out =. */
  readonly add?: boolean
  /** Each value goes through it. */
  readonly gate?: Gate | undefined
  /** A value x becomes cap * tanh(x / cap), last. */
  readonly cap?: number | undefined
  /** Only so many columns of each row, from the first on; multiples of 4. @default all */
  readonly from?: number
  readonly columns?: number
  /** Each so many of them are normed by themselves; a divisor of them, and a multiple of 4. @default all together */
  readonly every?: number | undefined
  /** One value, by which what is then in `out` is multiplied. */
  readonly total?: Vector | undefined
}

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

export interface ConvolveOptions {
  /** [MAX_TAPS][channels], the weight of the newest input last. */
  readonly taps: Vector
  /**
   * `gated`: a row of x is b | c | v, and out = c * convolution(b * v). `silu`: out = silu(convolution of the first
   * columns of x).
   */
  readonly form: 'gated' | 'silu'
}

/** The gated delta rule of Qwen3.5. A row of x has heads of queries, as many of keys, then those of values. */
export interface DeltaOptions {
  /** Heads of queries, and of keys. */
  readonly keyHeads: number
  /** A multiple of them: value head j goes with key head j / (valueHeads / keyHeads), or j % keyHeads if `tiled`. */
  readonly valueHeads: number
  readonly tiled?: boolean | undefined
  /** Multiples of 16. */
  readonly keySize: number
  readonly valueSize: number
  /** For each value head b, of how much is learned, then a, of how much is forgotten. */
  readonly rates: Activations
  /** Of each value head, the factor and the summand of a: e^(speed * softplus(a + delay)) is what stays. */
  readonly speed: Vector
  readonly delay: Vector
  /** Of each head of the result. */
  readonly norm: { readonly weight: Vector; readonly epsilon: number }
  /** The result is multiplied with silu of these columns, from `gatesFrom` on. */
  readonly gates: Activations
  readonly gatesFrom: number
}

export interface GateOptions {
  /** @default all rows of the pass */
  readonly rows?: number
  readonly gate: Gate
  /** Columns at which gates and values begin; multiples of 4. @default 0 */
  readonly gatesFrom?: number
  readonly valuesFrom?: number
}

/** One row to sample. Chance comes from `seed` and `index` alone: see `sampling.ts`, which defines the draw. */
export interface SampleRow {
  /** The token is kept in this slot until the next sample into it. */
  readonly slot: number
  /** 0: the greatest logit, the lowest id among equals. */
  readonly temperature: number
  readonly topP: number
  readonly seed: number
  readonly index: number
  /** One bit per token, lowest first; tokens beyond it are not allowed. */
  readonly mask?: Uint32Array
  /** Only so many of the greatest, and whatever equals the last of them. @default all */
  readonly topK?: number
  /** Only what is at least so likely as this share of the likeliest. @default 0 */
  readonly minP?: number
  /** Logits of tokens whose bit is set are divided by `by` where they are above 0, else multiplied by it: first of all. */
  readonly repeats?: { readonly tokens: Uint32Array; readonly by: number }
  /** Added to the logits of these tokens before mask and temperature: penalties and bias. Each token at most once. */
  readonly adjust?: { readonly tokens: Int32Array; readonly deltas: Float32Array }
  /** Absent: no log probabilities. They are of the logits as the model gave them. */
  readonly topLogprobs?: number
}

export interface SampledRow {
  /** Or `UNDRAWN`: some logit is infinite or not a number. */
  readonly token: number
  readonly logprob?: number
  readonly top?: readonly { readonly token: number; readonly logprob: number }[]
}

/**
 * One forward pass, recorded in order. Nothing may be read before `submit`. An output is none of the operation's inputs
 * unless said otherwise.
 */
export interface Pass {
  /** Tokens in the batch. */
  readonly rows: number
  /** Fills pages of all layers with zeros, before anything else of this pass. */
  clearPages(cache: KeyValueCache, pages: readonly number[]): void
  /** Copies pages of all layers, before anything else of this pass but what is cleared. */
  copyPages(cache: KeyValueCache, pairs: readonly { readonly from: number; readonly to: number }[]): void
  /** Fills the first rows, before anything else of this pass. The values may be reused when the call returns. */
  write(out: Activations, values: Float32Array): void
  /** Rows of the table by the batch's tokens, or by their places. */
  embed(table: Matrix, out: Activations, by?: 'tokens' | 'places'): void
  /** out = W x. `out` has as many columns as the matrix has rows (half as many if gated), `x` as it has columns. */
  project(matrix: Matrix, x: Activations, out: Activations, options?: ProjectOptions): void
  /** out = x * scale, normed first if asked. `out` may be `x`, but is not added to then. */
  join(x: Activations, out: Activations, options: JoinOptions): void
  /**
   * Turns queries (in place) and keys by their positions; writes keys and values into their pages. In a row of `qkv` are
   * `heads` queries, then the cache's heads of keys, then of values.
   */
  place(qkv: Activations, cache: KeyValueCache, layer: number, options: PlaceOptions): void
  /** Attention of the placed queries over the cache. `out` has `heads * headSize` columns. */
  attend(qkv: Activations, cache: KeyValueCache, layer: number, out: Activations, shape: AttentionShape): void
  /**
   * Each channel, a column of `out`, of each row from the last `MAX_TAPS` rows of its sequence; state `index`, of
   * [MAX_TAPS - 1][channels], has those before the first row, the oldest first.
   */
  convolve(x: Activations, states: States, index: number, out: Activations, options: ConvolveOptions): void
  /**
   * For each value head a matrix S of [keySize][valueSize], state `index`, and for each row q and k, both of length one, q
   * times keySize ** -0.5: S is multiplied with what stays; u = (v - S' k) * sigmoid(b); S += k u'; out = S' q, normed and
   * gated.
   */
  delta(x: Activations, states: States, index: number, out: Activations, options: DeltaOptions): void
  /** out = gate(gates) * values, for the columns of `out`, which may be one of them if it begins with it. */
  gate(gates: Activations, values: Activations, out: Activations, options: GateOptions): void
  /** out[i] = x[rows[i]]. A pass picks and pools the same way throughout. */
  pick(x: Activations, rows: Int32Array, out: Activations): void
  /** out[i] = the mean of the rows of span i */
  pool(x: Activations, out: Activations): void
  /** Samples the first rows of `logits`, one for each of `rows`. At most once per pass; leaves the logits alone. */
  sample(sampler: Sampler, logits: Activations, rows: readonly SampleRow[]): void
  /** A copy of the first `rows` rows at this point of the pass, for tests and diagnosis. */
  read(x: Activations, rows: number): Promise<Float32Array>
  /** Runs the pass. Resolves with what was sampled; rejects with a `V1Error` 503 when the device was lost. */
  submit(): Promise<readonly SampledRow[]>
}
