import type { Metadata } from '../../bench/peers/gguf-file.js'
import type { SafetensorsType, StoredTensor } from './files/safetensors.js'
import type { Kept, Vector } from './float64.js'

export interface TensorSpec {
  /** As Hugging Face names it. */
  readonly name: string
  readonly shape: readonly number[]
  /** Around which value its numbers lie, and how far. */
  readonly mean?: number
  readonly deviation: number
}

/** A sequence in float64: a token in, the logits after it out. */
export interface Reference {
  step(token: number): Vector
}

/** `MXFP4`: experts are in blocks of it, all else is in BF16. */
export type FolderType = SafetensorsType | 'MXFP4'

export type Weights = (name: string) => Vector

/** One tensor of a GGUF made from the weights; the innermost dimension first. */
export interface GgufTensor {
  readonly name: string
  readonly dims: readonly number[]
  readonly values: Vector
}

/**
 * One case of an architecture: a small model of it with all that is peculiar about it, its definition in float64, its
 * form as a GGUF, and the mistakes that are usually made with it.
 */
export interface Case {
  readonly name: string
  /** `config.json` as Hugging Face writes it. */
  readonly config: Readonly<Record<string, unknown>> & { readonly vocab_size: number }
  readonly tensors: readonly TensorSpec[]
  /** Tokens of the prompt: it passes every window and every threshold of position scaling. */
  readonly prompt: number
  /** The context that llama.cpp is opened with, where it matters. */
  readonly context?: number
  /** @param kept what becomes of the numbers of keys and values; by default they are kept as they are */
  reference(weights: Weights, mistake?: string, kept?: Kept): Reference
  /** Each makes the reference wrong in one way that implementations are known to be wrong in. */
  readonly mistakes: readonly string[]
  /** What transformers' files have in place of these tensors, in a type of theirs. */
  folder?(weights: Weights, type: FolderType): readonly StoredTensor[]
  /** Absent: llama.cpp does not know it. */
  readonly gguf?: {
    readonly architecture: string
    /** llama.cpp approximates something of it, as gelu by a table of f16. */
    readonly approximate?: boolean
    metadata(out: Metadata): void
    tensors(weights: Weights): GgufTensor[]
  }
}

export const matrix = (name: string, rows: number, columns: number, gain = 1): TensorSpec => ({
  name,
  shape: [rows, columns],
  deviation: gain / Math.sqrt(columns),
})
export const vector = (name: string, size: number, mean: number, deviation: number): TensorSpec => ({
  name,
  shape: [size],
  mean,
  deviation,
})
/** A norm's weight, around one, or around zero where one is added to it. */
export const norm = (name: string, size: number, mean = 1): TensorSpec => vector(name, size, mean, 0.2)

/** llama.cpp turns neighbours for some architectures: rows of each head in the order it wants. */
export function interleaved(values: Vector, columns: number, headSize: number): Vector {
  const out = new Float64Array(values.length)
  const rows = values.length / columns
  for (let row = 0; row < rows; row++) {
    const within = row % headSize
    const from = row - within + (within & 1) * (headSize / 2) + (within >> 1)
    out.set(values.subarray(from * columns, (from + 1) * columns), row * columns)
  }
  return out
}
