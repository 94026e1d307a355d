/** What a model repository gives: tensors as they are stored, under the names of their format. */
import type { TextFiles } from '../../generate/index.js'
import type { BlockType, JsonObject } from '../../platform/index.js'
import type { SentenceFiles } from './sentence.js'

/** Whose names tensors have: each architecture knows them all. */
export type Naming = 'mlc' | 'huggingface' | 'gguf'

export type PlainType = 'f32' | 'f16' | 'bf16' | 'u32'
/** Bytes of a number. */
export const SIZES: Readonly<Record<PlainType, number>> = { f32: 4, f16: 2, bf16: 2, u32: 4 }
export type TensorType = PlainType | BlockType

export interface RawTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: TensorType
  /** Little-endian, row-major, exactly as long as shape and dtype say; of a block type, its blocks. */
  readonly data: Uint8Array
}

/** What is known of weights without any of them. */
export interface WeightOutline {
  /** @default 'mlc' */
  readonly naming?: Naming
  /** `mlc-chat-config.json`, or one made from `config.json`. */
  readonly chatConfig: Readonly<Record<string, unknown>>
  /** Of a model that makes vectors. Tensors of its modules are named with their folder: `2_Dense/linear.weight`. */
  readonly sentence?: SentenceFiles | undefined
  /** Of a model that answers typed questions, in the words of Laya's `rl_agent_config.json`. */
  readonly decision?: JsonObject | undefined
  /** Of a decoder with a head that makes rows of so many numbers in place of words. */
  readonly rowLength?: number
  readonly names: readonly string[]
  /** Shape and type, without reading the data. */
  describe(name: string): Omit<RawTensor, 'data'>
}

/** A matrix that is taken row by row, because it may be larger than memory holds in one piece. */
export interface StoredRows {
  readonly rowBytes: number
  /** So many rows as they are stored. `into` has room for them, and may be used for them. */
  read(from: number, to: number, signal?: AbortSignal, into?: Uint8Array): Promise<Uint8Array>
  /** The values of the row whose first byte is at `at`. */
  widen(bytes: Uint8Array, at: number, out: Float32Array): void
}

/** May refuse a model by throwing, and is waited for; `text`: what its files say about text. */
export type WeightCheck = (outline: WeightOutline, text: TextFiles) => unknown

export interface WeightSource extends WeightOutline {
  has(name: string): boolean
  /** Each tensor that is used is asked for once; its bytes need not be kept. `into` has room for them, and may be used. */
  read(name: string, signal?: AbortSignal, into?: Uint8Array): Promise<RawTensor>
  /** A matrix by its name without suffix, instead of `read`. Absent: there is no other way than to read it whole. */
  rows?(name: string): StoredRows
  /** Identifies the weights: the base of `system_fingerprint`. */
  readonly digest: string
}
