/**
 * What a loaded model repository gives to the decoder. Names are MLC's (`model.layers.0.self_attn.qkv_proj.q_weight`):
 * a reader of another format renames, fuses and quantises until they fit, so that the decoder knows one form only.
 */

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
  /** `mlc-chat-config.json`, or one made from `config.json`. */
  readonly chatConfig: Readonly<Record<string, unknown>>
  readonly names: readonly string[]
  /** Shape and type, without reading the data. */
  describe(name: string): Omit<RawTensor, 'data'>
}

/** May refuse a model by throwing. */
export type WeightCheck = (outline: WeightOutline) => unknown

export interface WeightSource extends WeightOutline {
  has(name: string): boolean
  /** Each tensor is asked for once; its bytes need not be kept. */
  read(name: string, signal?: AbortSignal): Promise<RawTensor>
  /** Identifies the weights: the base of `system_fingerprint`. */
  readonly digest: string
}
