/** What a model repository gives: tensors as they are stored, under the names of their format. */
import type { SentenceFiles } from './sentence.js'

/** Whose names tensors have: each architecture knows them all. */
export type Naming = 'mlc' | 'huggingface' | 'gguf'

export type TensorType = 'f32' | 'f16' | 'bf16' | 'u32'

export interface RawTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: TensorType
  /** Little-endian, row-major, exactly as long as shape and dtype say. */
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
  readonly names: readonly string[]
  /** Shape and type, without reading the data. */
  describe(name: string): Omit<RawTensor, 'data'>
}

/** May refuse a model by throwing. */
export type WeightCheck = (outline: WeightOutline) => unknown

export interface WeightSource extends WeightOutline {
  has(name: string): boolean
  /** Each tensor that is used is asked for once; its bytes need not be kept. */
  read(name: string, signal?: AbortSignal): Promise<RawTensor>
  /** Identifies the weights: the base of `system_fingerprint`. */
  readonly digest: string
}
